//! The name of the file from which an item was imported.
//!
//! The origin of the item has it, so it is not stored again. Statements that index documents and those that read
//! them use the same rule.

use rusqlite::{Connection, functions::FunctionFlags, types::ValueRef};

/// Extensions of archives, whose members are files with names of their own.
const ARCHIVE_EXTENSIONS: [&str; 4] = ["zip", "tar", "tgz", "gz"];
/// Signs after the name of a folder.
const FOLDER_SIGNS: [char; 3] = ['/', '\\', '#'];
/// Maximum length of an extension, in bytes.
const MAX_EXTENSION_BYTES: usize = 5;

/// Registers functions of an origin: `vademecum_file_name`, and `vademecum_file_folders`, the names of all folders
/// of the file in lower case, each between line breaks.
pub fn register_file_name(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("vademecum_file_name", 1, flags, |context| {
        let origin = text(context.get_raw(0));
        Ok(origin.and_then(file_name_of_origin).map(str::to_owned))
    })?;
    connection.create_scalar_function("vademecum_file_folders", 1, flags, |context| {
        let folder = text(context.get_raw(0)).and_then(file_folder_of_origin);
        let lines = |folder: &str| folder.to_ascii_lowercase().replace(FOLDER_SIGNS, "\n");
        Ok(folder.map(|folder| format!("\n{}\n", lines(folder))))
    })
}

fn text(value: ValueRef<'_>) -> Option<&str> {
    match value {
        ValueRef::Text(text) => std::str::from_utf8(text).ok(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => None,
    }
}

/// Returns the path of the folder of a file, from its origin. An archive is the folder of its members.
pub fn file_folder_of_origin(origin: &str) -> Option<&str> {
    let (folder, _) = origin.strip_prefix("file:")?.rsplit_once(FOLDER_SIGNS)?;
    Some(folder)
}

/// Returns the name of the file of an origin such as `file:/books/rye.pdf`, without folders and extension. For a
/// file in an archive, such as `file:/books.zip#bread/rye.pdf`, it is that of the file. `None` for an item that is
/// a part of a file, such as a bookmark, or of no file.
pub fn file_name_of_origin(origin: &str) -> Option<&str> {
    let path = origin.strip_prefix("file:")?;
    let file = match path.split_once('#') {
        Some((file, part)) => match split_extension(last_part(file)) {
            // The sign belongs to the name of the file.
            (_, None) => path,
            (_, Some(extension)) if is_archive(extension) => part,
            (_, Some(_)) => return None,
        },
        None => path,
    };
    let (name, _) = split_extension(last_part(file));
    Some(name).filter(|name| !name.trim().is_empty())
}

fn last_part(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Splits the extension from the name of a file, if it has one: few letters and digits, a letter first.
fn split_extension(name: &str) -> (&str, Option<&str>) {
    let is_extension = |text: &str| {
        text.len() <= MAX_EXTENSION_BYTES
            && text.starts_with(|sign: char| sign.is_ascii_alphabetic())
            && text.bytes().all(|sign| sign.is_ascii_alphanumeric())
    };
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && is_extension(extension) => {
            (stem, Some(extension))
        }
        _ => (name, None),
    }
}

fn is_archive(extension: &str) -> bool {
    ARCHIVE_EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_of_file_has_its_name() {
        for (origin, name) in [
            ("file:/books/Rye bread.pdf", Some("Rye bread")),
            ("file:/books/.hidden", Some(".hidden")),
            ("file:/books/v1.2 plan", Some("v1.2 plan")),
            ("file:C:\\books\\rye.epub", Some("rye")),
            ("file:/books/C# in depth.pdf", Some("C# in depth")),
            ("file:/books.ZIP#bread/rye.html", Some("rye")),
            ("file:/books.tar.gz#rye.html", Some("rye")),
            ("file:/marks.html#https://example.org/rye.html", None),
            ("file:/mail.mbox#3", None),
            ("file:/books/", None),
            ("media://3", None),
            ("feed:1:2", None),
        ] {
            assert_eq!(file_name_of_origin(origin), name, "{origin}");
        }
    }
}
