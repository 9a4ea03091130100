//! `Deserialize` for sections with rules that span several settings.

/// Implements `Deserialize` for a section that derives it with `#[serde(remote = "Self")]`: calls
/// its `validate` after its fields are read. An error of `validate` has the location of the
/// section in the file.
macro_rules! deserialize_validated {
    ($section:ident) => {
        impl<'de> serde::Deserialize<'de> for $section {
            fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
                $section::deserialize(reader)?.validate().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(super) use deserialize_validated;
