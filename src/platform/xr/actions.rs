//! Controllers: all actions and their bindings, made once before the session
//! begins, as OpenXR wants it.
//!
//! A runtime maps profiles that it does not know to those that it does; bindings
//! of a profile that it refuses cost that profile only. That a hand has no profile
//! at all is normal: it holds nothing.

use openxr::{Action, ActionSet, Binding, Haptic, Instance, Path, Posef, Vector2f};

use crate::gestures::{PerSide, Side};

/// What controllers do here.
pub(super) struct Actions {
    pub set: ActionSet,
    pub aim: Action<Posef>,
    pub grip: Action<Posef>,
    pub trigger: Action<f32>,
    pub squeeze: Action<f32>,
    pub stick: Action<Vector2f>,
    /// Panels.
    pub menu: Action<bool>,
    /// An alignment marker.
    pub mark: Action<bool>,
    pub haptic: Action<Haptic>,
    /// `/user/hand/left` and right.
    pub hands: PerSide<Path>,
}

/// A kind of controller, and where its parts are below `/user/hand/*`; a part
/// with two names has one for each hand.
struct Profile {
    path: &'static str,
    trigger: &'static str,
    squeeze: Option<&'static str>,
    stick: Option<&'static str>,
    menu: &'static [(&'static str, Hands)],
    mark: &'static [(&'static str, Hands)],
}

/// Which hands have that part.
#[derive(Clone, Copy, PartialEq)]
enum Hands {
    Both,
    Left,
    Right,
}

use Hands::{Both, Left, Right};

/// Touch: Quest 2, 3, 3S, Pro and Rift have these parts under several names.
const fn touch(path: &'static str) -> Profile {
    Profile {
        path,
        trigger: "input/trigger/value",
        squeeze: Some("input/squeeze/value"),
        stick: Some("input/thumbstick"),
        menu: &[("input/menu/click", Left), ("input/y/click", Left), ("input/b/click", Right)],
        mark: &[("input/x/click", Left), ("input/a/click", Right)],
    }
}

const PROFILES: &[Profile] = &[
    touch("/interaction_profiles/oculus/touch_controller"),
    touch("/interaction_profiles/facebook/touch_controller_pro"),
    touch("/interaction_profiles/meta/touch_controller_plus"),
    Profile {
        path: "/interaction_profiles/valve/index_controller",
        trigger: "input/trigger/value",
        squeeze: Some("input/squeeze/value"),
        stick: Some("input/thumbstick"),
        menu: &[("input/b/click", Both)],
        mark: &[("input/a/click", Both)],
    },
    Profile {
        path: "/interaction_profiles/htc/vive_controller",
        trigger: "input/trigger/value",
        squeeze: Some("input/squeeze/click"),
        stick: Some("input/trackpad"),
        menu: &[("input/menu/click", Both)],
        // Its only other button is the trackpad, which steps and scales: markers are put by the trigger.
        mark: &[],
    },
    Profile {
        path: "/interaction_profiles/microsoft/motion_controller",
        trigger: "input/trigger/value",
        squeeze: Some("input/squeeze/click"),
        stick: Some("input/thumbstick"),
        menu: &[("input/menu/click", Both)],
        mark: &[("input/trackpad/click", Both)],
    },
    Profile {
        path: "/interaction_profiles/khr/simple_controller",
        trigger: "input/select/click",
        squeeze: None,
        stick: None,
        menu: &[("input/menu/click", Both)],
        mark: &[],
    },
];

impl Actions {
    /// Makes them and suggests all bindings.
    pub fn new(instance: &Instance) -> openxr::Result<Self> {
        let hands = PerSide {
            left: instance.string_to_path("/user/hand/left")?,
            right: instance.string_to_path("/user/hand/right")?,
        };
        let both = [hands.left, hands.right];
        let set = instance.create_action_set("meeting", "Meeting", 0)?;
        let actions = Self {
            aim: set.create_action("aim", "Point", &both)?,
            grip: set.create_action("grip", "Hand", &both)?,
            trigger: set.create_action("grab", "Grab, press", &both)?,
            squeeze: set.create_action("second_grab", "Grab as well", &both)?,
            stick: set.create_action("stick", "Scale, next model", &both)?,
            menu: set.create_action("menu", "Panels", &both)?,
            mark: set.create_action("mark", "Alignment marker", &both)?,
            haptic: set.create_action("haptic", "Ticks", &both)?,
            set,
            hands,
        };
        for profile in PROFILES {
            if let Err(error) = actions.suggest(instance, profile) {
                tracing::debug!("no bindings for {}: {error}", profile.path);
            }
        }
        Ok(actions)
    }

    fn suggest(&self, instance: &Instance, profile: &Profile) -> openxr::Result<()> {
        let mut bindings = Vec::new();
        for side in Side::BOTH {
            let path = |part: &str| instance.string_to_path(&format!("/user/hand/{}/{part}", side.as_str()));
            let has =
                |hands: Hands| hands == Both || hands == (if side == Side::Left { Left } else { Right });
            bindings.push(Binding::new(&self.aim, path("input/aim/pose")?));
            bindings.push(Binding::new(&self.grip, path("input/grip/pose")?));
            bindings.push(Binding::new(&self.haptic, path("output/haptic")?));
            bindings.push(Binding::new(&self.trigger, path(profile.trigger)?));
            if let Some(squeeze) = profile.squeeze {
                bindings.push(Binding::new(&self.squeeze, path(squeeze)?));
            }
            if let Some(stick) = profile.stick {
                bindings.push(Binding::new(&self.stick, path(stick)?));
            }
            for (action, parts) in [(&self.menu, profile.menu), (&self.mark, profile.mark)] {
                for (part, _) in parts.iter().filter(|(_, hands)| has(*hands)) {
                    bindings.push(Binding::new(action, path(part)?));
                }
            }
        }
        instance.suggest_interaction_profile_bindings(instance.string_to_path(profile.path)?, &bindings)
    }
}
