//! Text tables. Color codes have no width, wide characters have width two.

use unicode_width::UnicodeWidthChar;

/// The separator between two columns.
const GAP: &str = "  ";
/// The flexible column is not truncated below this width.
const MIN_COLUMN_WIDTH: usize = 12;

/// Lays out rows in columns. `fit` is a column to truncate and the width that each row must fit.
pub(crate) fn render(rows: &[Vec<String>], fit: Option<(usize, usize)>) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| display_width(cell))
                .max()
        })
        .map(Option::unwrap_or_default)
        .collect();
    let all: usize = widths.iter().sum::<usize>() + GAP.len() * columns.saturating_sub(1);
    if let Some((column, width)) = fit
        && let Some(wanted) = widths.get_mut(column)
    {
        let room = width.saturating_sub(all - *wanted);
        *wanted = (*wanted).min(room.max(MIN_COLUMN_WIDTH));
    }
    let right: Vec<bool> = (0..columns)
        .map(|column| holds_numbers(rows, column))
        .collect();
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(&widths).zip(&right);
        let cells = cells.map(|((cell, width), right)| {
            let cell = truncate(cell, *width);
            let padding = " ".repeat(width.saturating_sub(display_width(&cell)));
            if *right {
                format!("{padding}{cell}")
            } else {
                format!("{cell}{padding}")
            }
        });
        let line = cells.collect::<Vec<_>>().join(GAP);
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns true if all cells below the header are numbers; such columns are right-aligned.
fn holds_numbers(rows: &[Vec<String>], column: usize) -> bool {
    let mut cells = rows
        .iter()
        .skip(1)
        .filter_map(|row| row.get(column))
        .filter(|cell| !cell.is_empty());
    let is_number = |cell: &String| cell.bytes().all(|byte| byte.is_ascii_digit());
    cells.next().is_some_and(is_number) && cells.all(is_number)
}

/// Truncates a text to a display width, appends an ellipsis and resets the color.
fn truncate(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let (mut kept, mut used, mut coloured) = (String::new(), 0, false);
    for (character, is_escape) in characters(text) {
        let takes = if is_escape {
            0
        } else {
            character.width().unwrap_or(0)
        };
        if used + takes + 1 > width {
            break;
        }
        coloured |= is_escape;
        used += takes;
        kept.push(character);
    }
    let kept = kept.trim_end();
    let end = if coloured { "\u{1b}[0m" } else { "" };
    format!("{kept}…{end}")
}

fn display_width(text: &str) -> usize {
    let shown = characters(text).filter(|(_, is_escape)| !is_escape);
    shown
        .map(|(character, _)| character.width().unwrap_or(0))
        .sum()
}

/// Returns each character, and whether it belongs to a color code.
fn characters(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut in_escape = false;
    text.chars().map(move |character| {
        let starts = character == '\u{1b}';
        let belongs = in_escape || starts;
        in_escape = (in_escape && character != 'm') || starts;
        (character, belongs)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        let row = |row: &&[&str]| row.iter().map(|cell| (*cell).to_owned()).collect();
        rows.iter().map(row).collect()
    }

    #[test]
    fn color_codes_have_no_width_and_wide_characters_have_two() {
        let table = rows(&[
            &["A", "B"],
            &["\u{1b}[32mgood\u{1b}[0m", "x"],
            &["日本", "y"],
        ]);
        let text = render(&table, None);
        assert_eq!(text, "A     B\n\u{1b}[32mgood\u{1b}[0m  x\n日本  y");
    }

    #[test]
    fn flexible_column_is_truncated_to_the_width() {
        let table = rows(&[&["name", "a summary that is rather long", "7"]]);
        let text = render(&table, Some((1, 24)));
        assert_eq!(text, "name  a summary that…  7");
        assert!(display_width(&text) <= 24);
        assert_eq!(
            render(&table, None),
            "name  a summary that is rather long  7"
        );
    }

    #[test]
    fn truncated_text_resets_its_color() {
        assert_eq!(
            truncate("\u{1b}[2mdim and long\u{1b}[0m", 6),
            "\u{1b}[2mdim a…\u{1b}[0m"
        );
    }
}
