// Door of the action in golden/: records goldens, and proposes them.
process.stdout.write("trtgate golden\n");
const { runGoldenAction } = await import("./app/golden-action.ts");
process.exitCode = await runGoldenAction();
