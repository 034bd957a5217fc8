//! One type scale, one set of colours, and the few kinds of panel.

use bevy::prelude::*;

/// Sizes of text in logical pixels. Nothing is smaller than `SMALL`.
pub mod size {
    /// Secondary text.
    pub const SMALL: f32 = 14.0;
    /// Most text.
    pub const BODY: f32 = 16.0;
    /// Headings.
    pub const TITLE: f32 = 20.0;
}

/// Colours of panels and their text.
pub mod colour {
    use bevy::prelude::Color;

    /// Behind text. So dense that every text on it can be read, whatever is behind:
    /// colours are blended in linear light, in which a little of a bright model is
    /// much.
    pub const PANEL: Color = Color::srgba(0.07, 0.09, 0.12, 0.97);
    /// Behind one thing of a list.
    pub const CARD: Color = Color::srgb(0.135, 0.16, 0.195);
    /// Behind a button.
    pub const BUTTON: Color = Color::srgb(0.205, 0.235, 0.28);
    /// Behind a button under the mouse.
    pub const HOVER: Color = Color::srgb(0.255, 0.292, 0.345);
    /// Behind a button while it is pressed.
    pub const PRESSED: Color = Color::srgb(0.10, 0.22, 0.38);
    /// Behind a button that cannot be used now.
    pub const DISABLED: Color = Color::srgb(0.12, 0.14, 0.17);
    /// Behind the one of several that holds.
    pub const CHOSEN: Color = Color::srgb(0.15, 0.33, 0.58);
    /// That, under the mouse.
    pub const CHOSEN_HOVER: Color = Color::srgb(0.19, 0.38, 0.65);
    /// What bars fill; a switch that is off.
    pub const TRACK: Color = Color::srgb(0.36, 0.40, 0.46);
    /// A switch that is on.
    pub const SWITCH_ON: Color = Color::srgb(0.20, 0.50, 0.86);
    /// Around what has the keyboard's focus.
    pub const FOCUS: Color = Color::srgb(0.62, 0.82, 1.0);
    /// Behind chosen text.
    pub const SELECTION: Color = Color::srgba(0.38, 0.68, 1.0, 0.45);
    /// Text of what cannot be used now.
    pub const OFF: Color = Color::srgb(0.55, 0.59, 0.64);
    /// Most text.
    pub const TEXT: Color = Color::srgb(0.93, 0.95, 0.97);
    /// Secondary text.
    pub const DIM: Color = Color::srgb(0.75, 0.80, 0.86);
    /// What is chosen or grows.
    pub const ACCENT: Color = Color::srgb(0.55, 0.78, 1.0);
    /// A warning's edge.
    pub const WARNING: Color = Color::srgb(0.96, 0.74, 0.26);
    /// An error's edge.
    pub const ERROR: Color = Color::srgb(1.0, 0.64, 0.61);
}

/// Distance of panels from the window's edge and from each other, logical pixels.
pub const GAP: f32 = 12.0;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Startup, use_font);
}

/// Latin, Greek, Cyrillic and the signs of science, which Bevy's own font lacks:
/// names and files have them.
fn use_font(mut fonts: ResMut<Assets<Font>>) -> Result {
    fonts.insert(AssetId::default(), Font::from_bytes(dejavu::sans::regular().to_vec()))?;
    Ok(())
}

/// A line or a paragraph.
pub fn text(content: impl Into<String>, size: f32, colour: Color) -> impl Bundle {
    (Text::new(content), TextFont::from_font_size(size), TextColor(colour), Pickable::IGNORE)
}

/// A rounded rectangle that holds text; `node` says where.
pub fn panel(node: Node) -> impl Bundle {
    (
        Node { padding: UiRect::all(px(10)), border_radius: BorderRadius::all(px(8)), ..node },
        BackgroundColor(colour::PANEL),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `over` on `under`, which is opaque, as the GPU blends them: in linear light.
    fn on(under: Color, over: Color) -> Color {
        let (u, o) = (under.to_linear(), over.to_linear());
        Color::from(u * (1.0 - o.alpha) + o * o.alpha).with_alpha(1.0)
    }

    /// WCAG 2.1, contrast ratio.
    fn contrast(a: Color, b: Color) -> f32 {
        let [a, b] = [a, b].map(|c| c.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_text_can_be_read_on_every_panel() {
        use colour::*;
        for behind in [Color::BLACK, Color::WHITE, Color::srgb(0.9, 0.9, 0.2)] {
            let panel = on(behind, PANEL);
            for fill in [panel, CARD, BUTTON, HOVER, PRESSED] {
                for text in [TEXT, DIM, ACCENT, WARNING, ERROR] {
                    let ratio = contrast(text, fill);
                    assert!(ratio >= 4.5, "{text:?} on {fill:?}: {ratio}");
                }
            }
            for fill in [CHOSEN, CHOSEN_HOVER] {
                assert!(contrast(TEXT, fill) >= 4.5, "{fill:?}");
            }
            assert!(contrast(OFF, DISABLED) >= 4.5);
            assert!(contrast(FOCUS, panel) >= 3.0 && contrast(TRACK, CARD) >= 1.5);
        }
    }

    #[test]
    fn states_of_a_button_differ() {
        use colour::*;
        let states = [BUTTON, HOVER, PRESSED, DISABLED, CHOSEN, CHOSEN_HOVER];
        for (number, a) in states.iter().enumerate() {
            assert!(states[number + 1..].iter().all(|b| a != b));
        }
    }
}
