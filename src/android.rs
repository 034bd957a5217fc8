//! How the program starts on Android: what `main` is elsewhere.

use std::ffi::OsString;

use tracing_subscriber::{EnvFilter, Layer as _, layer::SubscriberExt as _, util::SubscriberInitExt as _};

use crate::{
    cli::{self, Cli},
    logbook::{self, Logbook},
    platform::android::{self, Activity, Logcat, Place},
    settings,
};

/// Called by android-activity on a thread of its own, by this name.
#[expect(unsafe_code, reason = "it is called by its name")]
// SAFETY: no other function of this name is in the program.
#[unsafe(no_mangle)]
fn android_main(activity: Activity) {
    let place = android::begin(activity);
    let cli = arguments(&place);
    let level = cli.as_ref().map_or("info", |cli| &cli.common.log);
    start_log(level);
    tracing::info!("Convene {} starts", env!("CARGO_PKG_VERSION"));
    let mut cli = cli.unwrap_or_else(|error| {
        tracing::warn!("the intent's arguments are not taken: {error}");
        plain()
    });
    let common = &mut cli.common;
    common.settings.get_or_insert_with(|| place.files.join("settings.json"));
    common.received_folder.get_or_insert_with(|| place.files.clone());
    common.cache.get_or_insert_with(|| place.own.join("received-models"));
    if let Some(model) = &place.model {
        settings::suggest_name(model);
    }
    if let Err(error) = crate::run(cli.command, cli.files, cli.common) {
        tracing::error!("the program ends: {error}");
    }
    android::end();
}

fn arguments(place: &Place) -> Result<Cli, clap::Error> {
    let arguments = place.arguments.iter().map(OsString::from);
    cli::parse(std::iter::once(OsString::from("convene")).chain(arguments))
}

/// Without arguments.
fn plain() -> Cli {
    cli::parse([OsString::from("convene")]).unwrap_or_else(|error| error.exit())
}

fn start_log(level: &str) {
    let filter = |directives: &str| EnvFilter::try_new(directives).unwrap_or_else(|_| EnvFilter::new("warn"));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(Logcat)
        .with_ansi(false)
        // Logcat has its own.
        .without_time()
        .with_level(false)
        .with_filter(filter(&logbook::written(level)));
    let kept = Logbook.with_filter(filter(&logbook::kept()));
    tracing_subscriber::registry().with(lines).with(kept).init();
}
