//! Decoding of `MySQL` and `MariaDB` values by column type.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mysql_async::{
    Column as Described, Value as Sent,
    consts::{ColumnFlags, ColumnType},
};
use serde_json::Value;

use crate::{Column, driver::lossless_json};

/// Id of the character set `binary`, which marks values that are not text.
const BINARY_CHARSET: u16 = 63;

/// Number of decimals reported for a date or time column without a declared precision.
const UNSPECIFIED_DECIMALS: u8 = 31;

/// Returns the columns of a result.
pub(super) fn describe_columns(described: &[Described]) -> Vec<Column> {
    let columns = described.iter();
    columns
        .map(|column| Column { name: column.name_str().into_owned(), kind: type_name(column) })
        .collect()
}

/// Decodes a value of the given column.
pub(super) fn decode_value(value: Sent, column: &Described) -> Result<Value, serde_json::Error> {
    Ok(match value {
        Sent::NULL => Value::Null,
        Sent::Int(number) => lossless_json::integer_value(number),
        Sent::UInt(number) => lossless_json::unsigned_value(number),
        // Format as `f32`, so that 0.1 does not become 0.10000000149011612.
        Sent::Float(number) => lossless_json::number_value(&number.to_string()),
        Sent::Double(number) => lossless_json::double_value(number),
        Sent::Date(..) => Value::from(format_datetime(&value, column)),
        Sent::Time(is_negative, days, hours, minutes, seconds, micros) => {
            let sign = if is_negative { "-" } else { "" };
            let hours = days * 24 + u32::from(hours);
            let time = format!("{sign}{hours:02}:{minutes:02}:{seconds:02}");
            Value::from(time + &fractional_seconds(micros, column.decimals()))
        }
        Sent::Bytes(bytes) => return decode_bytes(bytes, column),
    })
}

fn decode_bytes(bytes: Vec<u8>, column: &Described) -> Result<Value, serde_json::Error> {
    use ColumnType as Type;
    Ok(match column.column_type() {
        Type::MYSQL_TYPE_DECIMAL | Type::MYSQL_TYPE_NEWDECIMAL => {
            lossless_json::decimal_value(&String::from_utf8_lossy(&bytes))
        }
        Type::MYSQL_TYPE_JSON => {
            return lossless_json::parse_json(&String::from_utf8_lossy(&bytes));
        }
        Type::MYSQL_TYPE_BIT => decode_bits(&bytes),
        Type::MYSQL_TYPE_GEOMETRY | Type::MYSQL_TYPE_VECTOR => Value::from(STANDARD.encode(bytes)),
        _ if column.character_set() == BINARY_CHARSET => Value::from(STANDARD.encode(bytes)),
        _ => Value::from(String::from_utf8_lossy(&bytes)),
    })
}

/// Decodes up to 64 bits as a number.
fn decode_bits(bytes: &[u8]) -> Value {
    lossless_json::unsigned_value(
        bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    )
}

/// Formats a date, with the time of day unless the column is a `DATE`.
fn format_datetime(value: &Sent, column: &Described) -> String {
    let Sent::Date(year, month, day, hour, minute, second, micros) = value else {
        return String::new();
    };
    let date = format!("{year:04}-{month:02}-{day:02}");
    if column.column_type() == ColumnType::MYSQL_TYPE_DATE {
        return date;
    }
    let time = format!("{date} {hour:02}:{minute:02}:{second:02}");
    time + &fractional_seconds(*micros, column.decimals())
}

/// Formats fractional seconds with the number of digits of the column.
fn fractional_seconds(micros: u32, decimals: u8) -> String {
    let digits = format!("{micros:06}");
    match decimals {
        0 => String::new(),
        UNSPECIFIED_DECIMALS.. if micros == 0 => String::new(),
        decimals => format!(".{}", &digits[..usize::from(decimals).min(6)]),
    }
}

/// Returns the type name of a column as in `CREATE TABLE`.
fn type_name(column: &Described) -> String {
    use ColumnType as Type;
    let is_binary = column.character_set() == BINARY_CHARSET;
    let flags = column.flags();
    let text = |text: &'static str, bytes: &'static str| if is_binary { bytes } else { text };
    let name = match column.column_type() {
        Type::MYSQL_TYPE_DECIMAL | Type::MYSQL_TYPE_NEWDECIMAL => "decimal",
        Type::MYSQL_TYPE_TINY => "tinyint",
        Type::MYSQL_TYPE_SHORT => "smallint",
        Type::MYSQL_TYPE_LONG => "int",
        Type::MYSQL_TYPE_INT24 => "mediumint",
        Type::MYSQL_TYPE_LONGLONG => "bigint",
        Type::MYSQL_TYPE_FLOAT => "float",
        Type::MYSQL_TYPE_DOUBLE => "double",
        Type::MYSQL_TYPE_NULL => "null",
        Type::MYSQL_TYPE_TIMESTAMP | Type::MYSQL_TYPE_TIMESTAMP2 => "timestamp",
        Type::MYSQL_TYPE_DATETIME | Type::MYSQL_TYPE_DATETIME2 => "datetime",
        Type::MYSQL_TYPE_DATE | Type::MYSQL_TYPE_NEWDATE => "date",
        Type::MYSQL_TYPE_TIME | Type::MYSQL_TYPE_TIME2 => "time",
        Type::MYSQL_TYPE_YEAR => "year",
        Type::MYSQL_TYPE_BIT => "bit",
        Type::MYSQL_TYPE_JSON => "json",
        Type::MYSQL_TYPE_VECTOR => "vector",
        Type::MYSQL_TYPE_GEOMETRY => "geometry",
        _ if flags.contains(ColumnFlags::ENUM_FLAG) => "enum",
        _ if flags.contains(ColumnFlags::SET_FLAG) => "set",
        Type::MYSQL_TYPE_ENUM => "enum",
        Type::MYSQL_TYPE_SET => "set",
        Type::MYSQL_TYPE_TINY_BLOB => text("tinytext", "tinyblob"),
        Type::MYSQL_TYPE_MEDIUM_BLOB => text("mediumtext", "mediumblob"),
        Type::MYSQL_TYPE_LONG_BLOB => text("longtext", "longblob"),
        // Some servers send this type for all text and blob types; only the longest is
        // recognizable, by its length.
        Type::MYSQL_TYPE_BLOB if column.column_length() == u32::MAX => text("longtext", "longblob"),
        Type::MYSQL_TYPE_BLOB => text("text", "blob"),
        Type::MYSQL_TYPE_STRING => text("char", "binary"),
        Type::MYSQL_TYPE_VARCHAR | Type::MYSQL_TYPE_VAR_STRING => text("varchar", "varbinary"),
        Type::MYSQL_TYPE_TYPED_ARRAY | Type::MYSQL_TYPE_UNKNOWN => "",
    };
    let is_number = matches!(name, "tinyint" | "smallint" | "int" | "mediumint" | "bigint");
    if is_number && flags.contains(ColumnFlags::UNSIGNED_FLAG) {
        format!("{name} unsigned")
    } else {
        name.to_owned()
    }
}

/// Returns true if the rows of the statement may contain password hashes.
pub(super) fn shows_passwords(statement: &str) -> bool {
    let mut words = statement.split_whitespace().map(str::to_ascii_lowercase);
    words.next().is_some_and(|word| word == "show")
        && words.any(|word| ["grants", "user"].contains(&word.trim_matches(';')))
}

/// Replaces the password hashes in the rows of SHOW GRANTS or SHOW CREATE USER.
pub(super) fn hide_passwords(rows: &mut [Vec<Value>]) {
    for value in rows.iter_mut().flatten() {
        if let Value::String(text) = value {
            *text = mask_passwords(text);
        }
    }
}

/// Replaces each string after PASSWORD, USING, BY or AS by `'***'`.
fn mask_passwords(grant: &str) -> String {
    let (mut masked, mut rest) = (String::with_capacity(grant.len()), grant);
    while let Some(at) = rest.find('\'') {
        let (before, quoted) = rest.split_at(at);
        let end = quoted[1..].find('\'').map_or(quoted.len(), |end| end + 2);
        let last = before.split_whitespace().next_back().unwrap_or_default();
        let is_secret = before.ends_with(' ')
            && ["PASSWORD", "USING", "BY", "AS"].iter().any(|it| last.eq_ignore_ascii_case(it));
        masked.push_str(before);
        masked.push_str(if is_secret { "'***'" } else { &quoted[..end] });
        rest = &quoted[end..];
    }
    masked + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn password_hashes_of_grants_are_masked() {
        for (grant, masked) in [
            (
                "GRANT ALL ON *.* TO `ann`@`%` IDENTIFIED BY PASSWORD '*6BB4837E' WITH GRANT OPTION",
                "GRANT ALL ON *.* TO `ann`@`%` IDENTIFIED BY PASSWORD '***' WITH GRANT OPTION",
            ),
            (
                "CREATE USER 'a'@'%' IDENTIFIED VIA ed25519 USING 'hash' OR x AS 'other'",
                "CREATE USER 'a'@'%' IDENTIFIED VIA ed25519 USING '***' OR x AS '***'",
            ),
            ("GRANT SELECT ON `a`.* TO 'b'@'c'", "GRANT SELECT ON `a`.* TO 'b'@'c'"),
            ("IDENTIFIED BY 'unclosed", "IDENTIFIED BY '***'"),
        ] {
            assert_eq!(mask_passwords(grant), masked);
        }
        assert!(shows_passwords("SHOW GRANTS FOR CURRENT_USER") && !shows_passwords("SELECT 1"));
    }

    fn test_column(of: ColumnType, decimals: u8) -> Described {
        Described::new(of).with_decimals(decimals)
    }

    #[test]
    fn datetime_has_fraction_digits_of_column() {
        let datetime = |decimals| test_column(ColumnType::MYSQL_TYPE_DATETIME, decimals);
        let at = Sent::Date(2024, 2, 29, 13, 5, 9, 120_000);
        assert_eq!(decode_value(at.clone(), &datetime(0)).unwrap(), json!("2024-02-29 13:05:09"));
        assert_eq!(
            decode_value(at.clone(), &datetime(2)).unwrap(),
            json!("2024-02-29 13:05:09.12")
        );
        let date = test_column(ColumnType::MYSQL_TYPE_DATE, 0);
        assert_eq!(decode_value(at, &date).unwrap(), json!("2024-02-29"));
    }

    #[test]
    fn time_may_be_negative_and_exceed_day() {
        let time = test_column(ColumnType::MYSQL_TYPE_TIME, 3);
        let sent = Sent::Time(true, 34, 22, 59, 59, 1_000);
        assert_eq!(decode_value(sent, &time).unwrap(), json!("-838:59:59.001"));
    }

    #[test]
    fn float_keeps_single_precision_digits() {
        let float = test_column(ColumnType::MYSQL_TYPE_FLOAT, 0);
        assert_eq!(decode_value(Sent::Float(0.1), &float).unwrap(), json!(0.1));
    }

    #[test]
    fn bits_decode_to_number() {
        assert_eq!(decode_bits(&[1, 0]), json!(256));
        assert_eq!(decode_bits(&[255; 8]), json!("18446744073709551615"));
    }
}
