//! Everything that only Java can do, behind functions that cannot be used wrongly.
//!
//! The classes are Android's own; names and signatures are those of its reference
//! (developer.android.com/reference). A Java exception becomes an error here and
//! leaves nothing pending.

use std::time::Duration;

use jni::{
    JNIEnv, JavaVM,
    errors::{Error, Result},
    objects::{GlobalRef, JObject, JString, JValue},
};

/// `WifiManager.WIFI_MODE_FULL_LOW_LATENCY`, since API 29.
const WIFI_LOW_LATENCY: i32 = 4;
/// `PowerManager.PARTIAL_WAKE_LOCK`: the processor, not the screen.
const PARTIAL_WAKE_LOCK: i32 = 1;
/// Under this name the system lists the locks.
const NAME: &str = "convene:meeting";

/// Calls Java from this thread, which is attached to the virtual machine as long.
fn with_java<T>(call: impl FnOnce(&mut JNIEnv, &JObject) -> Result<T>) -> Result<T> {
    let context = ndk_context::android_context();
    #[expect(unsafe_code, reason = "the virtual machine and the activity come as pointers")]
    // SAFETY: android-activity has put the pointers of this process there before `android_main`, and they are valid
    // until it returns. The reference to the activity is a global one, which any thread may use and which a `JObject`
    // does not delete.
    let (machine, activity) =
        unsafe { (JavaVM::from_raw(context.vm().cast())?, JObject::from_raw(context.context().cast())) };
    let mut env = machine.attach_current_thread()?;
    let result = call(&mut env, &activity);
    if matches!(result, Err(Error::JavaException)) {
        // Written into the log by the virtual machine itself.
        env.exception_describe()?;
        env.exception_clear()?;
    }
    result
}

/// `android.os.Build.MODEL`: what the headset is called.
pub(super) fn model() -> Result<String> {
    with_java(|env, _| {
        let model = env.get_static_field("android/os/Build", "MODEL", "Ljava/lang/String;")?.l()?;
        text(env, model)?.ok_or(Error::NullPtr("Build.MODEL"))
    })
}

/// A text that came with the intent that has started the activity; none if there is
/// none of this name.
pub(super) fn intent_text(name: &str) -> Result<Option<String>> {
    with_java(|env, activity| {
        let intent = env.call_method(activity, "getIntent", "()Landroid/content/Intent;", &[])?.l()?;
        if intent.is_null() {
            return Ok(None);
        }
        let name = env.new_string(name)?;
        let signature = "(Ljava/lang/String;)Ljava/lang/String;";
        let found = env.call_method(&intent, "getStringExtra", signature, &[JValue::Object(&name)])?.l()?;
        text(env, found)
    })
}

/// Closes the activity and takes it off the list of recent ones.
pub(super) fn finish_activity() -> Result<()> {
    with_java(|env, activity| {
        env.call_method(activity, "finishAndRemoveTask", "()V", &[])?;
        Ok(())
    })
}

fn text(env: &mut JNIEnv, object: JObject) -> Result<Option<String>> {
    if object.is_null() {
        return Ok(None);
    }
    let text = JString::from(object);
    let text = env.get_string(&text)?;
    Ok(Some(text.into()))
}

/// What keeps processor and network awake, none of it held at first. Released by
/// the system when the process ends.
pub(super) struct Locks {
    /// `WifiManager.WifiLock`: the radio does not sleep between packets.
    wifi: GlobalRef,
    /// `WifiManager.MulticastLock`: packets for all are not filtered out.
    multicast: GlobalRef,
    /// `PowerManager.WakeLock`.
    awake: GlobalRef,
}

impl Locks {
    /// Asks the system for them.
    pub fn new() -> Result<Self> {
        with_java(|env, activity| {
            let signature = "()Landroid/content/Context;";
            let program = env.call_method(activity, "getApplicationContext", signature, &[])?.l()?;
            let name = env.new_string(NAME)?;
            let manager = service(env, &program, "wifi")?;
            let wifi = env.call_method(
                &manager,
                "createWifiLock",
                "(ILjava/lang/String;)Landroid/net/wifi/WifiManager$WifiLock;",
                &[JValue::Int(WIFI_LOW_LATENCY), JValue::Object(&name)],
            )?;
            let multicast = env.call_method(
                &manager,
                "createMulticastLock",
                "(Ljava/lang/String;)Landroid/net/wifi/WifiManager$MulticastLock;",
                &[JValue::Object(&name)],
            )?;
            let power = service(env, &program, "power")?;
            let awake = env.call_method(
                &power,
                "newWakeLock",
                "(ILjava/lang/String;)Landroid/os/PowerManager$WakeLock;",
                &[JValue::Int(PARTIAL_WAKE_LOCK), JValue::Object(&name)],
            )?;
            let mut keep = |lock: jni::objects::JValueOwned| {
                let lock = lock.l()?;
                // Held or not, however often it was asked for.
                env.call_method(&lock, "setReferenceCounted", "(Z)V", &[JValue::Bool(0)])?;
                env.new_global_ref(lock)
            };
            Ok(Self { wifi: keep(wifi)?, multicast: keep(multicast)?, awake: keep(awake)? })
        })
    }

    /// Holds all of them, that of the processor for so long; once more prolongs it.
    pub fn hold(&self, awake: Duration) -> Result<()> {
        with_java(|env, _| {
            for lock in [&self.wifi, &self.multicast] {
                env.call_method(lock, "acquire", "()V", &[])?;
            }
            let milliseconds = i64::try_from(awake.as_millis()).unwrap_or(i64::MAX);
            env.call_method(&self.awake, "acquire", "(J)V", &[JValue::Long(milliseconds)])?;
            Ok(())
        })
    }

    /// Releases those that are held.
    pub fn release(&self) -> Result<()> {
        with_java(|env, _| {
            for lock in [&self.wifi, &self.multicast, &self.awake] {
                if env.call_method(lock, "isHeld", "()Z", &[])?.z()? {
                    env.call_method(lock, "release", "()V", &[])?;
                }
            }
            Ok(())
        })
    }
}

fn service<'a>(env: &mut JNIEnv<'a>, program: &JObject, name: &str) -> Result<JObject<'a>> {
    let name = env.new_string(name)?;
    let signature = "(Ljava/lang/String;)Ljava/lang/Object;";
    let service = env.call_method(program, "getSystemService", signature, &[JValue::Object(&name)])?.l()?;
    if service.is_null() { Err(Error::NullPtr("getSystemService")) } else { Ok(service) }
}
