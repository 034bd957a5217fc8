//! The description of a page.

use bevy::prelude::*;

use crate::app::{
    input::{Action, Switch},
    theme::{colour, size},
};

/// Something on a page, with what is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Element {
    /// Tells it from its like when lists change; else its place does.
    pub(super) key: Option<String>,
    pub(super) kind: Kind,
    pub(super) children: Vec<Element>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Column { gap: f32 },
    Row { gap: f32 },
    Card { selected: bool },
    Text { text: String, size: Size, tone: Tone },
    Name { text: String, size: Size, tone: Tone },
    Button(Button),
    Switch { switch: Switch, label: String, on: bool, enabled: bool },
    Field(Field),
    Bar { share: f32, tone: Tone },
    Dot(Color),
    Swatch { id: String, colour: Color, chosen: bool, action: Action },
    Line,
}

impl Kind {
    /// Whether one can become the other without being made anew.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.id() == other.id()
    }

    /// Of a control.
    pub(super) fn id(&self) -> Option<String> {
        match self {
            Self::Button(button) => Some(button.id.clone()),
            Self::Switch { switch, .. } => Some(format!("switch/{}", switch.as_str())),
            Self::Field(field) => Some(format!("field/{}", field.id.as_str())),
            Self::Swatch { id, .. } => Some(id.clone()),
            _ => None,
        }
    }
}

/// The three sizes of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Size {
    /// Secondary text.
    Small,
    /// Most text.
    #[default]
    Body,
    /// Headings.
    Title,
}

impl Size {
    /// Logical pixels.
    pub fn pixels(self) -> f32 {
        match self {
            Self::Small => size::SMALL,
            Self::Body => size::BODY,
            Self::Title => size::TITLE,
        }
    }
}

/// What colours mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Most of it.
    #[default]
    Plain,
    /// Secondary.
    Dim,
    /// What is chosen or grows.
    Accent,
    /// Something did not work.
    Warning,
    /// What cannot be undone, or failed.
    Error,
}

impl Tone {
    /// Of text and bars.
    pub fn colour(self) -> Color {
        match self {
            Self::Plain => colour::TEXT,
            Self::Dim => colour::DIM,
            Self::Accent => colour::ACCENT,
            Self::Warning => colour::WARNING,
            Self::Error => colour::ERROR,
        }
    }
}

/// Something to press.
#[derive(Debug, Clone, PartialEq)]
pub struct Button {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) action: Action,
    pub(super) enabled: bool,
    pub(super) chosen: bool,
    pub(super) tone: Tone,
    pub(super) wide: bool,
    pub(super) key: Option<f32>,
}

impl Button {
    /// Can it be pressed?
    pub fn enabled_if(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Of several, the one that holds.
    pub fn chosen_if(mut self, chosen: bool) -> Self {
        self.chosen = chosen;
        self
    }

    /// With this colour of its text.
    pub fn toned(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }

    /// A key of a keyboard, so many logical pixels wide.
    pub fn key(mut self, width: f32) -> Self {
        self.key = Some(width);
        self
    }

    /// As wide as what it is in.
    pub fn wide(mut self) -> Self {
        self.wide = true;
        self
    }
}

/// A line of text to fill in.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub(super) id: FieldId,
    /// What it holds at first, and again whenever this changes.
    pub(super) text: String,
    /// What is to be filled in, shown while it is empty.
    pub(super) hint: String,
}

/// Which field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldId {
    /// Of a host.
    Address,
    /// Of the person here.
    Name,
    /// Of the real room.
    Room,
}

impl FieldId {
    /// In ids of controls.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Name => "name",
            Self::Room => "room",
        }
    }

    /// What Enter does.
    pub(super) fn action(self, text: String) -> Action {
        match self {
            Self::Address => Action::Join(text),
            Self::Name => Action::Rename(text),
            Self::Room => Action::RenameRoom(text),
        }
    }

    /// Whether leaving the field does the same as Enter.
    pub(super) fn acts_when_left(self) -> bool {
        matches!(self, Self::Name | Self::Room)
    }

    pub(super) fn most_characters(self) -> usize {
        match self {
            Self::Address => 260,
            Self::Name | Self::Room => 40,
        }
    }
}

impl Element {
    fn new(kind: Kind, children: Vec<Self>) -> Self {
        Self { key: None, kind, children }
    }

    /// Told from its like by this when the list it is in changes.
    pub fn keyed(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// All text in it, line by line: what a person reads.
    pub fn lines(&self) -> Vec<String> {
        let own = match &self.kind {
            Kind::Text { text, .. } | Kind::Name { text, .. } => Some(text.clone()),
            Kind::Button(button) => Some(format!("[{}]", button.label)),
            Kind::Switch { label, on, .. } => Some(format!("{label}: {}", if *on { "on" } else { "off" })),
            Kind::Field(field) => Some(format!("_{}_", field.text)),
            Kind::Bar { share, .. } => Some(format!("{:.0} %", share * 100.0)),
            _ => None,
        };
        own.into_iter().chain(self.children.iter().flat_map(Self::lines)).collect()
    }

    /// Ids of the controls in it that can be used.
    pub fn controls(&self) -> Vec<String> {
        let enabled = match &self.kind {
            Kind::Button(button) => button.enabled,
            Kind::Switch { enabled, .. } => *enabled,
            _ => true,
        };
        let own = self.kind.id().filter(|_| enabled);
        own.into_iter().chain(self.children.iter().flat_map(Self::controls)).collect()
    }
}

impl From<Button> for Element {
    fn from(button: Button) -> Self {
        let key = button.id.clone();
        Self::new(Kind::Button(button), Vec::new()).keyed(key)
    }
}

/// One below the other, `gap` logical pixels apart.
pub fn column(gap: f32, children: impl IntoIterator<Item = Element>) -> Element {
    Element::new(Kind::Column { gap }, children.into_iter().collect())
}

/// Side by side; what does not fit goes to the next line.
pub fn row(children: impl IntoIterator<Item = Element>) -> Element {
    Element::new(Kind::Row { gap: 8.0 }, children.into_iter().collect())
}

/// Side by side, nearer to each other.
pub fn tight_row(children: impl IntoIterator<Item = Element>) -> Element {
    Element::new(Kind::Row { gap: 4.0 }, children.into_iter().collect())
}

/// One thing of a list.
pub fn card(key: impl Into<String>, selected: bool, children: impl IntoIterator<Item = Element>) -> Element {
    Element::new(Kind::Card { selected }, children.into_iter().collect()).keyed(key)
}

/// A line or a paragraph.
pub fn text(text: impl Into<String>, size: Size, tone: Tone) -> Element {
    Element::new(Kind::Text { text: text.into(), size, tone }, Vec::new())
}

/// One line that takes the room that is left in its row; what is too long loses
/// its middle.
pub fn name(text: impl Into<String>, size: Size, tone: Tone) -> Element {
    Element::new(Kind::Name { text: text.into(), size, tone }, Vec::new())
}

/// Something to press.
pub fn button(id: impl Into<String>, label: impl Into<String>, action: Action) -> Button {
    Button {
        id: id.into(),
        label: label.into(),
        action,
        enabled: true,
        chosen: false,
        tone: Tone::Plain,
        wide: false,
        key: None,
    }
}

/// Something that is on or off.
pub fn switch(switch: Switch, label: impl Into<String>, on: bool, enabled: bool) -> Element {
    let key = switch.as_str();
    Element::new(Kind::Switch { switch, label: label.into(), on, enabled }, Vec::new()).keyed(key)
}

/// A line of text to fill in.
pub fn field(id: FieldId, text: impl Into<String>, hint: impl Into<String>) -> Element {
    let field = Field { id, text: text.into(), hint: hint.into() };
    Element::new(Kind::Field(field), Vec::new()).keyed(id.as_str())
}

/// How much of something is done, 0 to 1.
pub fn bar(share: f32, tone: Tone) -> Element {
    // As fine as can be seen.
    let share = (share.clamp(0.0, 1.0) * 500.0).round() / 500.0;
    Element::new(Kind::Bar { share, tone }, Vec::new())
}

/// Somebody's colour.
pub fn dot(colour: Color) -> Element {
    Element::new(Kind::Dot(colour), Vec::new())
}

/// A colour to choose.
pub fn swatch(id: impl Into<String>, colour: Color, chosen: bool, action: Action) -> Element {
    let id = id.into();
    Element::new(Kind::Swatch { id: id.clone(), colour, chosen, action }, Vec::new()).keyed(id)
}

/// Between parts of a page.
pub fn line() -> Element {
    Element::new(Kind::Line, Vec::new())
}
