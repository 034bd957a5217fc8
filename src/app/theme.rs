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

    /// Behind text.
    pub const PANEL: Color = Color::srgba(0.09, 0.11, 0.14, 0.82);
    /// Behind a button under the mouse.
    pub const HOVER: Color = Color::srgba(1.0, 1.0, 1.0, 0.10);
    /// Behind a button.
    pub const BUTTON: Color = Color::srgba(1.0, 1.0, 1.0, 0.06);
    /// Most text.
    pub const TEXT: Color = Color::srgb(0.93, 0.95, 0.97);
    /// Secondary text.
    pub const DIM: Color = Color::srgb(0.68, 0.73, 0.79);
    /// What is chosen or grows.
    pub const ACCENT: Color = Color::srgb(0.38, 0.68, 1.0);
    /// A warning's edge.
    pub const WARNING: Color = Color::srgb(0.96, 0.74, 0.26);
    /// An error's edge.
    pub const ERROR: Color = Color::srgb(0.96, 0.42, 0.40);
}

/// Distance of panels from the window's edge and from each other, logical pixels.
pub const GAP: f32 = 12.0;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Startup, use_font).add_systems(Update, show_hover);
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

/// Something to press; what it does is an observer of
/// [`Pointer<Click>`](bevy::picking::events::Click).
#[derive(Component, Default)]
#[require(Interaction, BackgroundColor(colour::BUTTON))]
pub struct Pressable;

fn show_hover(
    mut buttons: Query<(&Interaction, &mut BackgroundColor), (With<Pressable>, Changed<Interaction>)>,
) {
    for (interaction, mut background) in &mut buttons {
        background.0 = if *interaction == Interaction::None { colour::BUTTON } else { colour::HOVER };
    }
}
