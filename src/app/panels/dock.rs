//! The dock: tabs, and below them the page that is chosen.

use bevy::{
    ecs::system::SystemParam,
    input_focus::{InputFocus, tab_navigation::TabGroup},
    prelude::*,
};

use super::{Places, board::Board};
use crate::app::{
    AppSystems,
    input::{Action, Page},
    theme::{self, GAP},
    ui::{self, Button, Element, Tree},
};

/// Logical pixels.
const WIDTH: f32 = 348.0;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Open>()
        .add_systems(Startup, spawn)
        .add_systems(Update, act.in_set(AppSystems::Update))
        .add_systems(Update, update.in_set(AppSystems::Present));
}

/// What of the panels is shown.
#[derive(Resource, Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    /// The chosen page.
    pub page: Page,
    /// Whether there is more to be seen than a button.
    pub dock: bool,
}

impl Default for Open {
    fn default() -> Self {
        Self { page: Page::default(), dock: true }
    }
}

impl Open {
    /// Whether this page can be seen.
    pub fn shows(&self, page: Page) -> bool {
        self.dock && self.page == page
    }
}

/// The whole of it; its node's size is the room that it takes.
#[derive(Component, Debug)]
pub struct Dock;

#[derive(Component)]
struct Tabs;

/// The root of a page.
#[derive(Component, Debug, Clone, Copy, PartialEq, Eq)]
struct PageRoot(Page);

/// For a page to say what it shows.
#[derive(SystemParam)]
pub(super) struct Pages<'w, 's> {
    open: Res<'w, Open>,
    roots: Query<'w, 's, (Entity, &'static PageRoot, &'static mut Tree, &'static mut ScrollPosition)>,
    commands: Commands<'w, 's>,
}

impl Pages<'_, '_> {
    /// Whether this page can be seen; one that cannot has nothing to say.
    pub fn shows(&self, page: Page) -> bool {
        self.open.shows(page)
    }

    pub fn show(&mut self, page: Page, elements: Vec<Element>) {
        for (root, PageRoot(at), mut tree, _) in &mut self.roots {
            if *at == page {
                return ui::show(&mut self.commands, root, &mut tree, elements);
            }
        }
    }

    pub fn scroll_to_top(&mut self, page: Page) {
        for (_, PageRoot(at), _, mut scroll) in &mut self.roots {
            if *at == page {
                scroll.0 = Vec2::ZERO;
            }
        }
    }
}

/// What holds a page and its scroll bar.
#[derive(Component)]
struct PagePlace(Page);

pub(super) fn spawn(mut commands: Commands, places: Res<Places>) {
    let tabs = commands
        .spawn((
            Tabs,
            Node { flex_direction: FlexDirection::Column, flex_shrink: 0.0, ..default() },
            Tree::default(),
            Pickable::IGNORE,
        ))
        .id();
    let mut parts = vec![tabs];
    for page in Page::ALL {
        let (place, area) = ui::scrolling(&mut commands);
        commands.entity(place).insert(PagePlace(page));
        commands.entity(area).insert((PageRoot(page), Tree::default(), Name::new(page.title())));
        parts.push(place);
    }
    let node = Node {
        flex_direction: FlexDirection::Column,
        width: px(WIDTH),
        max_height: percent(100),
        min_height: px(0),
        row_gap: px(GAP),
        ..default()
    };
    let dock = commands
        .spawn((Dock, theme::panel(node), TabGroup::new(0), Name::new("dock")))
        .add_children(&parts)
        .id();
    commands.entity(places.dock).add_child(dock);
}

pub(super) fn act(mut actions: MessageReader<Action>, mut open: ResMut<Open>) {
    for action in actions.read() {
        match action {
            Action::ShowPage(page) => {
                open.set_if_neq(Open { page: *page, dock: true });
            }
            Action::TogglePanels => open.dock = !open.dock,
            _ => {}
        }
    }
}

fn update(
    open: Res<Open>,
    board: Res<Board>,
    mut tabs: Single<(Entity, &mut Tree), With<Tabs>>,
    mut dock: Single<&mut Node, (With<Dock>, Without<PagePlace>)>,
    mut pages: Query<(&PagePlace, &mut Node)>,
    mut roots: Query<(Entity, &PageRoot, &mut Tree), Without<Tabs>>,
    mut focus: ResMut<InputFocus>,
    parents: Query<&ChildOf>,
    mut was_in_room: Local<bool>,
    mut commands: Commands,
) {
    let moved = *was_in_room != board.in_room;
    if !open.is_changed() && !moved {
        return;
    }
    *was_in_room = board.in_room;
    // In the room it is as large as its board, and put away as a whole.
    dock.width = match board.in_room {
        true => percent(100),
        false if open.dock => px(WIDTH),
        false => auto(),
    };
    dock.flex_grow = if board.in_room { 1.0 } else { 0.0 };
    for (PagePlace(page), mut node) in &mut pages {
        node.display = if open.shows(*page) { Display::Flex } else { Display::None };
    }
    // A page that is not shown is empty, so that Tab does not step into it.
    for (root, page, mut tree) in &mut roots {
        if !open.shows(page.0) {
            let within = |entity: Entity| parents.iter_ancestors(entity).any(|parent| parent == root);
            if focus.get().is_some_and(within) {
                focus.clear();
            }
            ui::show(&mut commands, root, &mut tree, Vec::new());
        }
    }
    let (entity, tree) = &mut *tabs;
    let fold_label = if open.dock { "\u{25b8}" } else { "\u{25c2} Panels" };
    let tab = |page: Page| -> Button {
        ui::button(format!("tab/{}", page.title()), page.title(), Action::ShowPage(page))
            .chosen_if(open.shows(page))
    };
    let fold = ui::button("tab/fold", fold_label, Action::TogglePanels);
    let tabs = Page::ALL.map(tab).into_iter().filter(|_| open.dock).map(Into::into);
    let buttons = tabs.chain((!board.in_room).then(|| fold.into()));
    ui::show(&mut commands, *entity, tree, vec![ui::tight_row(buttons)]);
}
