// Door of the action: says that it lives, then loads and runs the gate.
process.stdout.write("trtgate\n");
const { runAction } = await import("./app/action.ts");
process.exitCode = await runAction();
// A service that no longer answers must not hold the job: what is still open then is of no interest.
setTimeout(() => process.exit(), 1000).unref();
