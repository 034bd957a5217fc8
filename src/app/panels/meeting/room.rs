//! The part of the Meeting page that is about the real room.

use crate::{
    app::{
        alignment::{Alignment, Markers, centimetres, tip},
        input::{Action, Hands, Headset},
        ui::{self, Element, FieldId, Size, Tone},
    },
    gestures::Side,
    settings::Rooms,
};

/// What there is to say of it.
pub(super) struct RoomState<'a> {
    pub headset: &'a Headset,
    pub alignment: Alignment,
    pub markers: &'a Markers,
    pub hands: &'a Hands,
    pub rooms: &'a Rooms,
}

/// Nothing for those who have no headset.
pub(super) fn part(state: &RoomState<'_>) -> Vec<Element> {
    if !state.headset.is_in_use() {
        return Vec::new();
    }
    if state.markers.is_on() { aligning(state) } else { resting(state) }
}

fn note(text: impl Into<String>) -> Element {
    ui::text(text, Size::Small, Tone::Dim)
}

fn resting(state: &RoomState<'_>) -> Vec<Element> {
    let rooms = state.rooms;
    let place = rooms.place(&state.headset.name);
    let distance = place.map(|place| centimetres(place.marker_distance)).unwrap_or_default();
    let (label, said, tone) = match state.alignment {
        Alignment::None => (
            "Align",
            "For people in one real room: two markers on the same two points of it.".to_owned(),
            Tone::Dim,
        ),
        Alignment::Aligned => ("Re-align", format!("Aligned, with markers {distance} apart."), Tone::Plain),
        Alignment::Doubtful => (
            "Re-align",
            format!("It may have moved: the headset was recentred. The markers were {distance} apart."),
            Tone::Warning,
        ),
    };
    let align = ui::button("meeting/align", label, Action::Align).toned(Tone::Accent);
    let undo = ui::button("meeting/undo-alignment", "Undo", Action::UndoAlignment)
        .enabled_if(rooms.steps(&state.headset.name) > 0);
    let mut buttons = vec![align.into(), undo.into()];
    if state.alignment == Alignment::Doubtful {
        buttons.push(ui::button("meeting/trust-alignment", "It still fits", Action::TrustAlignment).into());
    }
    let mut part = vec![
        ui::text("Real room", Size::Body, Tone::Plain),
        ui::row(buttons),
        ui::text(said, Size::Small, tone),
        ui::field(FieldId::Room, rooms.name(), "what this room is called"),
    ];
    for name in rooms.others() {
        let here = ui::button(format!("meeting/room/{name}"), "Go here", Action::ChooseRoom(name.to_owned()));
        let forget =
            ui::button(format!("meeting/forget-room/{name}"), "Forget", Action::ForgetRoom(name.to_owned()));
        let parts = [ui::name(name, Size::Body, Tone::Plain), here.into(), forget.into()];
        part.push(ui::row(parts).keyed(format!("room {name}")));
    }
    let another = ui::button("meeting/new-room", "Another room", Action::ChooseRoom(rooms.new_name()));
    part.push(ui::row([another.into()]));
    part.push(ui::line());
    part
}

fn aligning(state: &RoomState<'_>) -> Vec<Element> {
    let marker = |number: u8, side: Side| {
        let is = match state.markers.dropped(side) {
            Some(_) => "dropped",
            None if tip(state.hands.get(side)).is_some() => "in the hand",
            None => "the hand is not seen",
        };
        ui::text(format!("Marker {number}, {} hand: {is}", side.as_str()), Size::Body, Tone::Plain)
    };
    vec![
        ui::text("Aligning the real room", Size::Body, Tone::Accent),
        note(
            "Everybody in it puts marker 1 on one point, marker 2 on another. Pull the trigger, pinch, or press A or X.",
        ),
        marker(1, Side::Right),
        marker(2, Side::Left),
        ui::row([ui::button("meeting/stop-aligning", "Cancel", Action::StopAligning).into()]),
        ui::line(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::input::HeadsetState,
        session::{Pose, room_from_tracking_unaligned},
        settings::Place,
    };

    #[test]
    fn what_the_page_offers_for_the_room() {
        let mut headset = Headset { name: "H".into(), ..Headset::default() };
        let (mut markers, hands) = (Markers::default(), Hands::default());
        let mut rooms = Rooms::default();
        let page = |headset: &Headset, alignment, markers: &Markers, rooms: &Rooms| {
            let elements = part(&RoomState { headset, alignment, markers, hands: &hands, rooms });
            let lines: Vec<String> = elements.iter().flat_map(Element::lines).collect();
            (lines.join("\n"), elements.iter().flat_map(Element::controls).collect::<Vec<_>>())
        };
        assert!(page(&headset, Alignment::None, &markers, &rooms).1.is_empty(), "nobody has a headset");
        headset.state = HeadsetState::Focused;
        let (said, controls) = page(&headset, Alignment::None, &markers, &rooms);
        assert!(said.contains("[Align]"), "{said}");
        assert_eq!(controls, ["meeting/align", "field/room", "meeting/new-room"]);
        let room: Pose = room_from_tracking_unaligned();
        rooms.align("H", Place::new(room, 0.834));
        rooms.choose("Lab");
        rooms.choose("Room");
        let (said, controls) = page(&headset, Alignment::Aligned, &markers, &rooms);
        assert!(said.contains("[Re-align]") && said.contains("83 cm"), "{said}");
        let all = [
            "meeting/align",
            "meeting/undo-alignment",
            "field/room",
            "meeting/room/Lab",
            "meeting/forget-room/Lab",
            "meeting/new-room",
        ];
        assert_eq!(controls, all);
        let (said, controls) = page(&headset, Alignment::Doubtful, &markers, &rooms);
        assert!(said.contains("recentred") && said.contains("[Re-align]"), "{said}");
        assert!(controls.contains(&"meeting/trust-alignment".to_owned()));
        markers.begin();
        let (said, controls) = page(&headset, Alignment::Aligned, &markers, &rooms);
        assert!(said.contains("Marker 1, right hand: the hand is not seen"), "{said}");
        assert_eq!(controls, ["meeting/stop-aligning"]);
    }
}
