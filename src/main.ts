// Door of the action: says that it lives, then loads and runs the gate.
process.stdout.write("trtgate\n");
const { runAction } = await import("./app/action.ts");
process.exitCode = await runAction();
