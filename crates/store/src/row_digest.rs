//! The digest of a row: 56 bits of the XXH3 hash of its values, and 8 bits that tell a damaged digest from
//! a damaged row.

use rusqlite::{
    Connection,
    functions::{Context, FunctionFlags},
    types::{Value, ValueRef},
};
use twox_hash::XxHash3_64;

use super::row_codec::{DamagedRow, decode_values, encode_value};

/// Bits of a digest that are a hash of the others.
const SEAL_MASK: u64 = 0xFF;

/// Registers the functions of the statements that write and verify digests.
pub(super) fn register_row_digest(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("vademecum_row_digest", -1, flags, |context| {
        Ok(digest_of(&encode_row(argument_values(context))))
    })?;
    connection.create_scalar_function("vademecum_row_key", -1, flags, |context| {
        let mut bytes = Vec::new();
        argument_values(context).for_each(|value| encode_value(value, &mut bytes));
        Ok(XxHash3_64::oneshot(&bytes).cast_signed())
    })?;
    connection.create_scalar_function("vademecum_is_sealed", 1, flags, |context| {
        Ok(is_sealed(context.get(0)?))
    })?;
    connection.create_scalar_function("vademecum_other_digest", 1, flags, |context| {
        let digest: i64 = context.get(0)?;
        Ok(seal(!digest.cast_unsigned()))
    })
}

fn argument_values<'a>(context: &'a Context<'_>) -> impl Iterator<Item = ValueRef<'a>> {
    (0..context.len()).map(|index| context.get_raw(index))
}

/// Encodes the values of a row in the order of its columns. NULL is left out, so that a column that a
/// migration adds changes no digest.
pub(super) fn encode_row<'a>(values: impl Iterator<Item = ValueRef<'a>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, value) in (0_i64..).zip(values) {
        if value != ValueRef::Null {
            encode_value(ValueRef::Integer(number), &mut bytes);
            encode_value(value, &mut bytes);
        }
    }
    bytes
}

/// Decodes an encoded row of `columns` values.
pub(super) fn decode_row(bytes: &[u8], columns: usize) -> Result<Vec<Value>, DamagedRow> {
    let mut row = vec![Value::Null; columns];
    let mut values = decode_values(bytes)?.into_iter();
    let mut next = 0;
    while let (Some(number), Some(value)) = (values.next(), values.next()) {
        let Value::Integer(number) = number else { return Err(DamagedRow) };
        let index = usize::try_from(number).map_err(|_| DamagedRow)?;
        if index < next || value == Value::Null {
            return Err(DamagedRow);
        }
        *row.get_mut(index).ok_or(DamagedRow)? = value;
        next = index + 1;
    }
    Ok(row)
}

/// Returns the digest of an encoded row.
pub(super) fn digest_of(encoded: &[u8]) -> i64 {
    seal(XxHash3_64::oneshot(encoded))
}

/// Returns whether a stored digest is one that the program wrote.
pub(super) fn is_sealed(digest: i64) -> bool {
    seal(digest.cast_unsigned()) == digest
}

fn seal(hash: u64) -> i64 {
    let kept = hash & !SEAL_MASK;
    (kept | (XxHash3_64::oneshot(&kept.to_le_bytes()) & SEAL_MASK)).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_ignores_nulls_at_the_end() {
        let row = [Value::Text("rye".into()), Value::Null, Value::Integer(7)];
        let more = [&row[..], &[Value::Null]].concat();
        let digest = |row: &[Value]| digest_of(&encode_row(row.iter().map(Into::into)));
        assert_eq!(digest(&row), digest(&more));
        assert_ne!(digest(&row), digest(&[row[0].clone(), row[2].clone()]));
        let encoded = encode_row(row.iter().map(Into::into));
        assert_eq!(decode_row(&encoded, 3).unwrap(), row);
        assert!(decode_row(&encoded, 2).is_err());
    }

    #[test]
    fn damaged_digest_is_told_from_another() {
        let digest = digest_of(b"rye");
        assert!(is_sealed(digest));
        let damaged = (0..64).filter(|bit| is_sealed(digest ^ (1 << bit))).count();
        assert!(damaged <= 2, "{damaged}");
    }
}
