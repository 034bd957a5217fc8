//! Android, which standalone headsets run: its log, its folders, and what keeps
//! the network awake.
//!
//! All calls of Java are in [`java`], behind safe functions.

mod java;
mod logcat;

use std::{path::PathBuf, time::Duration};

use bevy::prelude::*;

pub use bevy::android::android_activity::AndroidApp as Activity;
pub use logcat::Logcat;

use crate::{
    app::{AppState, AppSystems},
    threads,
};

/// The lock that keeps the processor awake ends by itself after so long, for where
/// the system stops the program without a word...
const AWAKE: Duration = Duration::from_secs(10 * 60);
/// ...and is taken anew so often while the program runs.
const RENEW: Duration = Duration::from_secs(60);

/// Where the program is.
#[derive(Debug, Clone)]
pub struct Place {
    /// The folder that people see from outside: `Android/data/PACKAGE/files` of the
    /// shared storage. Models lie there, and the settings.
    pub files: PathBuf,
    /// The program's own, which nobody sees.
    pub own: PathBuf,
    /// What the headset is called, `Quest 3`; the name of a person who has chosen
    /// none.
    pub model: Option<String>,
    /// What it was started with: the text `arguments` of its intent, as on a command
    /// line (`adb shell am start -n org.convene.app/android.app.NativeActivity -e
    /// arguments "--log debug join 192.168.1.20"`).
    pub arguments: Vec<String>,
}

/// Takes the activity, which Bevy needs, and looks where it is.
pub fn begin(activity: Activity) -> Place {
    let own = activity.internal_data_path().unwrap_or_else(|| PathBuf::from("."));
    // Without shared storage the program's own folder has to do.
    let files = activity.external_data_path().unwrap_or_else(|| own.clone());
    // Android has no folder for temporary files that programs may use.
    if let Err(before) = tempfile::env::override_temp_dir(&own) {
        tracing::debug!("temporary files go to {} already", before.display());
    }
    if bevy::android::ANDROID_APP.set(activity).is_err() {
        tracing::error!("the activity began twice in one process");
    }
    let model = java::model().map_err(|error| tracing::info!("the headset has no name: {error}")).ok();
    let arguments = java::intent_text("arguments").unwrap_or_else(|error| {
        tracing::info!("the intent cannot be read: {error}");
        None
    });
    let arguments = arguments.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    Place { files, own, model, arguments }
}

/// Ends the activity and the process with it: a second one in the same process finds
/// what the first has left, and winit's event loop can be made only once.
pub fn end() -> ! {
    if let Err(error) = java::finish_activity() {
        tracing::info!("the activity cannot be finished: {error}");
    }
    std::process::exit(0)
}

pub(super) fn plugin(app: &mut App) {
    match Keeper::start() {
        Ok(keeper) => {
            app.insert_resource(keeper).add_systems(Update, keep_awake.in_set(AppSystems::Send));
        }
        Err(error) => tracing::warn!("nothing keeps the network awake: {error}"),
    }
}

/// Takes and releases the locks, on a thread: the system may take its time.
#[derive(Resource)]
struct Keeper {
    wants: crossbeam_channel::Sender<bool>,
    asked: Option<(bool, Duration)>,
}

impl Keeper {
    fn start() -> std::io::Result<Self> {
        // The newest wish counts; more than this never wait.
        let (wants, wanted) = crossbeam_channel::bounded(4);
        // It ends when the channel does.
        threads::spawn("android-locks", move || keep(&wanted))?;
        Ok(Self { wants, asked: None })
    }
}

/// In a meeting, or on the way into one, the network stays awake.
fn keep_awake(mut keeper: ResMut<Keeper>, state: Res<State<AppState>>, time: Res<Time<Real>>) {
    let (wanted, now) = (*state.get() != AppState::Alone, time.elapsed());
    let is_told = keeper.asked.is_some_and(|(before, at)| before == wanted && (!wanted || now < at + RENEW));
    if !is_told && keeper.wants.try_send(wanted).is_ok() {
        keeper.asked = Some((wanted, now));
    }
}

fn keep(wanted: &crossbeam_channel::Receiver<bool>) {
    let locks = match java::Locks::new() {
        Ok(locks) => locks,
        Err(error) => {
            tracing::warn!("nothing keeps the network awake: {error}");
            return;
        }
    };
    let mut held = false;
    for wanted in wanted {
        let done = if wanted { locks.hold(AWAKE) } else { locks.release() };
        if let Err(error) = done {
            tracing::warn!(
                "a lock of the system could not be {}: {error}",
                if wanted { "held" } else { "released" }
            );
        }
        if wanted != held {
            tracing::info!("the network {}", if wanted { "is kept awake" } else { "may sleep" });
            held = wanted;
        }
    }
    if let Err(error) = locks.release() {
        tracing::debug!("a lock of the system could not be released: {error}");
    }
}
