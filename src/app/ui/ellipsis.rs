//! Names that are too long for their place lose their middle: beginnings and
//! ends tell files apart.

use bevy::{prelude::*, text::TextLayoutInfo, ui::UiSystems};

pub(super) fn plugin(app: &mut App) {
    app.add_systems(PostUpdate, shorten.after(UiSystems::PostLayout));
}

/// On a text in a node that clips it.
#[derive(Component, Debug)]
pub(super) struct Ellipsis {
    full: String,
    /// Characters that are kept.
    kept: usize,
    /// The place for which that was found, physical pixels.
    room: f32,
    /// The text was just changed, its width is not known yet.
    fresh: bool,
}

impl Ellipsis {
    pub fn new(full: &str) -> Self {
        Self { full: full.to_owned(), kept: full.chars().count(), room: 0.0, fresh: true }
    }
}

fn shorten(
    mut texts: Query<(&mut Ellipsis, &mut Text, &TextLayoutInfo, &ChildOf)>,
    nodes: Query<&ComputedNode>,
) {
    for (mut ellipsis, mut text, layout, parent) in &mut texts {
        let Ok(room) = nodes.get(parent.parent()).map(room_in) else { continue };
        if std::mem::take(&mut ellipsis.bypass_change_detection().fresh) || room <= 0.0 {
            continue;
        }
        let whole = ellipsis.full.chars().count();
        let kept = if layout.size.x > room + 0.5 {
            // A guess by the mean width, and then one by one.
            let guess = (ellipsis.kept as f32 * room / layout.size.x) as usize;
            guess.min(ellipsis.kept.saturating_sub(1)).max(2)
        } else if ellipsis.kept < whole && room > ellipsis.room + 0.5 {
            whole
        } else {
            ellipsis.kept
        };
        ellipsis.bypass_change_detection().room = room;
        if kept != ellipsis.kept {
            ellipsis.kept = kept;
            ellipsis.fresh = true;
            text.0 = shortened(&ellipsis.full, kept);
        }
    }
}

/// Physical pixels that a node has for what is in it.
fn room_in(node: &ComputedNode) -> f32 {
    node.size().x - node.padding().min_inset.x - node.padding().max_inset.x
}

/// With at most so many characters of it.
fn shortened(full: &str, kept: usize) -> String {
    let count = full.chars().count();
    if kept >= count {
        return full.to_owned();
    }
    let kept = kept.saturating_sub(1);
    let (head, tail) = (kept - kept * 2 / 5, kept * 2 / 5);
    let start: String = full.chars().take(head).collect();
    let end: String = full.chars().skip(count - tail).collect();
    format!("{start}\u{2026}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shortened("brain", 5), "brain");
        let long = shortened("emd_11638_postprocessed_map_\u{e5}ngstr\u{f6}m_v2", 24);
        assert_eq!(long, "emd_11638_post\u{2026}gstr\u{f6}m_v2");
        assert_eq!(long.chars().count(), 24);
        assert_eq!(shortened("abc", 0), "\u{2026}");
    }
}
