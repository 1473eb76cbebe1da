// Door of the action: says that it lives, then loads and runs the gate.
import { surviveLostOutput } from "./app/lost-output.ts";
import { refusesNode } from "./app/old-node.ts";

surviveLostOutput();
process.stdout.write("trtgate\n");
if (!refusesNode()) {
	const { runAction } = await import("./app/actions/gate-action.ts");
	const exit = await runAction();
	// A request that we gave up on would hold the process as long as its server pleases.
	process.stdout.write("", () => process.exit(exit));
}
