//! File names from titles.

use super::is_invisible;

/// Maximum length of a file name from a title, in bytes, so that an extension and a number fit into
/// the 255 bytes of all file systems.
const MAX_NAME_BYTES: usize = 180;
/// Characters that some file system or a link of a note program does not accept in names.
const REPLACED: &[char] = &['/', '\\', ':', '*', '?', '"', '<', '>', '|', '#', '^', '[', ']'];
/// Names that Windows gives to devices.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// Returns a title as a file name without extension that all file systems accept: one part of a
/// path, not hidden, at most 180 bytes long.
pub fn safe_file_name(title: &str) -> String {
    let plain = |sign: char| {
        if REPLACED.contains(&sign) || sign.is_control() || sign.is_whitespace() {
            ' '
        } else {
            sign
        }
    };
    let is_kept = |sign: &char| sign.is_whitespace() || !is_invisible(*sign);
    let signs: String = title.chars().filter(is_kept).map(plain).collect();
    let mut name = String::new();
    for word in signs.split_whitespace() {
        if !name.is_empty() {
            name.push(' ');
        }
        name.push_str(word);
    }
    name.truncate(name.floor_char_boundary(MAX_NAME_BYTES));
    let name = name.trim_matches(['.', ' ']);
    let stem = name.split('.').next().unwrap_or_default().to_lowercase();
    let device = stem.trim_end_matches(|sign: char| sign.is_ascii_digit());
    let is_device = DEVICES.contains(&device) && stem.len() - device.len() <= 1;
    match name {
        "" => "note".to_owned(),
        name if is_device => format!("{name}_"),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_one_visible_part_of_a_path() {
        for (title, name) in [
            ("Rye bread", "Rye bread"),
            ("../../etc/passwd", "etc passwd"),
            (".hidden", "hidden"),
            ("a\u{202e}b\u{200b}\n\tc", "ab c"),
            ("C: *what?* [[x]] #y", "C what x y"),
            ("com1", "com1_"),
            ("CON.md", "CON.md_"),
            ("command", "command"),
            (" ... ", "note"),
            ("", "note"),
            ("Äpfel und Öl 漢字", "Äpfel und Öl 漢字"),
        ] {
            assert_eq!(safe_file_name(title), name, "{title:?}");
        }
        assert_eq!(safe_file_name(&"漢".repeat(100)).len(), 180);
    }
}
