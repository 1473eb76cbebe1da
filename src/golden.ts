// Door of the action in golden/: records goldens, and proposes them.
import { surviveLostOutput } from "./app/lost-output.ts";
import { refusesNode } from "./app/old-node.ts";

surviveLostOutput();
process.stdout.write("trtgate golden\n");
if (!refusesNode()) {
	const { runGoldenAction } = await import("./app/actions/golden-action.ts");
	const exit = await runGoldenAction();
	// A request that we gave up on would hold the process as long as its server pleases.
	process.stdout.write("", () => process.exit(exit));
}
