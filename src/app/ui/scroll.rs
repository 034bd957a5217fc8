//! Pages that are higher than their place: wheel, bar, and whatever has the
//! keyboard's focus comes into view.

use bevy::{
    input_focus::{FocusCause, FocusGained, InputFocusVisible},
    prelude::*,
    ui_widgets::{ControlOrientation, ScrollArea, ScrollIntoView, Scrollbar, ScrollbarThumb},
};

use crate::app::{AppSystems, theme::colour};

const BAR: f32 = 6.0;

pub(super) fn plugin(app: &mut App) {
    app.add_observer(into_view).add_systems(Update, hide_bars.in_set(AppSystems::Present));
}

/// A place that is as high as what is in it, but never higher than its own. Gives the two
/// entities: the place, and what scrolls.
pub fn scrolling(commands: &mut Commands) -> (Entity, Entity) {
    let area_node = Node {
        flex_direction: FlexDirection::Column,
        flex_grow: 1.0,
        min_width: px(0),
        min_height: px(0),
        row_gap: px(10),
        padding: UiRect::new(px(2), px(2), px(3), px(3)),
        overflow: Overflow::scroll_y(),
        ..default()
    };
    let area = commands.spawn((area_node, ScrollArea)).id();
    let thumb = (
        ScrollbarThumb { border_radius: BorderRadius::all(px(BAR / 2.0)), ..default() },
        BackgroundColor(colour::DIM),
    );
    let bar_node = Node { width: px(BAR), height: percent(100), flex_shrink: 0.0, ..default() };
    let bar = commands
        .spawn((bar_node, Scrollbar::new(area, ControlOrientation::Vertical, 24.0), children![thumb]))
        .id();
    let place =
        Node { flex_direction: FlexDirection::Row, column_gap: px(4), min_height: px(0), ..default() };
    (commands.spawn((place, Pickable::IGNORE)).add_children(&[area, bar]).id(), area)
}

/// Only what keys have chosen: what is pressed has the focus too, and would make a
/// page jump under the hand that pulls at it. And only that itself: the event goes
/// on to all that it is in, each of which would scroll the page on.
fn into_view(gained: On<FocusGained>, by_keys: Res<InputFocusVisible>, mut commands: Commands) {
    let itself = gained.entity == gained.original_event_target();
    if itself && by_keys.0 && gained.cause == FocusCause::Navigated {
        commands.trigger(ScrollIntoView { entity: gained.entity });
    }
}

/// A bar that has nothing to scroll is not shown, but keeps its place.
fn hide_bars(mut bars: Query<(&Scrollbar, &mut Visibility)>, areas: Query<&ComputedNode>) {
    for (bar, mut visibility) in &mut bars {
        let Ok(area) = areas.get(bar.target) else { continue };
        let needed = area.content_size().y > area.size().y + 1.0;
        visibility.set_if_neq(if needed { Visibility::Inherited } else { Visibility::Hidden });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Resource, Default)]
    struct CameIntoView(Vec<Entity>);

    #[test]
    fn what_keys_choose_comes_into_view_and_what_is_pressed_stays() {
        let mut app = App::new();
        app.init_resource::<CameIntoView>().insert_resource(InputFocusVisible(false));
        app.add_observer(into_view);
        app.add_observer(|mut came: On<ScrollIntoView>, mut all: ResMut<CameIntoView>| {
            came.propagate(false);
            all.0.push(came.entity);
        });
        let world = app.world_mut();
        let page = world.spawn_empty().id();
        let [pressed, chosen] = [(); 2].map(|()| world.spawn(ChildOf(page)).id());
        // Bevy gives both the same cause, and shows the focus that keys have moved.
        world.trigger(FocusGained { entity: pressed, cause: FocusCause::Navigated });
        world.flush();
        world.resource_mut::<InputFocusVisible>().0 = true;
        world.trigger(FocusGained { entity: chosen, cause: FocusCause::Navigated });
        world.flush();
        assert_eq!(world.resource::<CameIntoView>().0, [chosen]);
    }
}
