//! Controllers and bare hands come and go.

use std::time::Duration;

use super::{
    remote::Remote,
    report::Tracked::{self, Controller, Hand, None},
    stage::{Headset, Stage},
};

#[test]
fn controllers_are_put_down_and_taken_up() {
    type Change = fn(&mut Remote);
    let steps: [(&str, Change, [Tracked; 2]); 5] = [
        ("both controllers", |_| (), [Controller, Controller]),
        ("the right hand bare", |remote| remote.right.bare(), [Controller, Hand]),
        ("both hands bare", |remote| remote.left.bare(), [Hand, Hand]),
        ("the left hand out of sight", |remote| remote.left.tracked = false, [None, Hand]),
        (
            "the controllers again",
            |remote| {
                remote.left.take_controller();
                remote.right.take_controller();
            },
            [Controller, Controller],
        ),
    ];

    let Some(mut stage) = Stage::set("hands", Headset::Ready, &[]) else { return };
    stage.wait_for_focus();
    for (what, change, [left, right]) in steps {
        stage.remote().set(change);
        stage.app.wait_for(what, Duration::from_secs(10), |state| {
            (state.tracked.left, state.tracked.right) == (left, right)
        });
    }
}
