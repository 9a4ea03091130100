//! Encoding of SQLite values in the keys and rows of an archive, and in the digests of rows.
//!
//! Each value is a byte for its type and its content. Integers are zigzag varints, reals eight bytes
//! in little-endian order, texts and BLOBs their length as varint and their bytes.

use rusqlite::types::{Value, ValueRef};

const NULL: u8 = 0;
const INTEGER: u8 = 1;
const REAL: u8 = 2;
const TEXT: u8 = 3;
const BLOB: u8 = 4;

/// Error of a row that this program did not encode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an encoded row is damaged")]
pub struct DamagedRow;

/// Appends a value.
pub fn encode_value(value: ValueRef<'_>, bytes: &mut Vec<u8>) {
    match value {
        ValueRef::Null => bytes.push(NULL),
        ValueRef::Integer(number) => {
            bytes.push(INTEGER);
            let zigzag = number.wrapping_shl(1) ^ (number >> 63);
            encode_varint(zigzag.cast_unsigned(), bytes);
        }
        ValueRef::Real(number) => {
            bytes.push(REAL);
            bytes.extend(number.to_le_bytes());
        }
        ValueRef::Text(text) => encode_bytes(TEXT, text, bytes),
        ValueRef::Blob(blob) => encode_bytes(BLOB, blob, bytes),
    }
}

fn encode_bytes(kind: u8, content: &[u8], bytes: &mut Vec<u8>) {
    bytes.push(kind);
    encode_varint(u64::try_from(content.len()).unwrap_or(u64::MAX), bytes);
    bytes.extend_from_slice(content);
}

fn encode_varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7F).unwrap_or(0) | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap_or(0));
}

/// Decodes the values of a row. Fails if they are cut off or of an unknown kind.
pub fn decode_values(mut bytes: &[u8]) -> Result<Vec<Value>, DamagedRow> {
    let mut values = Vec::new();
    while let Some((kind, rest)) = bytes.split_first() {
        bytes = rest;
        values.push(match *kind {
            NULL => Value::Null,
            INTEGER => {
                let zigzag = decode_varint(&mut bytes)?;
                Value::Integer((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
            }
            REAL => {
                let (number, rest) = bytes.split_first_chunk().ok_or(DamagedRow)?;
                bytes = rest;
                Value::Real(f64::from_le_bytes(*number))
            }
            TEXT => {
                let text = decode_bytes(&mut bytes)?.to_vec();
                Value::Text(String::from_utf8(text).map_err(|_| DamagedRow)?)
            }
            BLOB => Value::Blob(decode_bytes(&mut bytes)?.to_vec()),
            _ => return Err(DamagedRow),
        });
    }
    Ok(values)
}

fn decode_bytes<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], DamagedRow> {
    let length = usize::try_from(decode_varint(bytes)?).map_err(|_| DamagedRow)?;
    let (content, rest) = bytes.split_at_checked(length).ok_or(DamagedRow)?;
    *bytes = rest;
    Ok(content)
}

fn decode_varint(bytes: &mut &[u8]) -> Result<u64, DamagedRow> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(DamagedRow)?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F).checked_shl(shift).ok_or(DamagedRow)?;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(DamagedRow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_encoding() {
        let values = [
            Value::Null,
            Value::Integer(0),
            Value::Integer(-1),
            Value::Integer(i64::MIN),
            Value::Integer(i64::MAX),
            Value::Real(-0.5),
            Value::Text("ß\0 \u{1F35E}".to_owned()),
            Value::Blob(vec![0, 255, 128]),
            Value::Text(String::new()),
        ];
        let mut bytes = Vec::new();
        for value in &values {
            encode_value(value.into(), &mut bytes);
        }
        assert_eq!(decode_values(&bytes).unwrap(), values);
    }

    #[test]
    fn damaged_rows_are_refused() {
        let mut bytes = Vec::new();
        encode_value(ValueRef::Text(b"rye"), &mut bytes);
        encode_value(ValueRef::Integer(1 << 40), &mut bytes);
        for end in [1, 2, 4, bytes.len() - 1] {
            assert_eq!(decode_values(&bytes[..end]), Err(DamagedRow), "{end}");
        }
        for other in [&[9][..], &[3, 1, 0xFF], &[3, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], &[1; 1][..]] {
            assert_eq!(decode_values(other), Err(DamagedRow), "{other:?}");
        }
    }
}
