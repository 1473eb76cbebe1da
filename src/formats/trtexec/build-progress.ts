// Reads the progress of a build from its verbose log: layers, then conversions between layers.
const layersLeft = /^\[[^\]]{1,40}\] \[V\] \[TRT\] After [\w ]+: (\d{1,6}) layers$/;

export function createBuildProgress(onPhase: (phase: string) => void): (text: string) => void {
	let [layers, timed] = [0, 0];
	return (text) => {
		const count = layersLeft.exec(text)?.[1];
		if (count !== undefined && timed === 0) layers = Number(count);
		else if (/timing cache in use/.test(text)) onPhase("timing kernels");
		else if (/=== Computing costs for /.test(text)) {
			timed = Math.min(timed + 1, layers);
			onPhase(layers === 0 ? "timing kernels" : `timing kernels: layer ${timed} of ${layers}`);
		} else if (/=== Computing reformatting costs/.test(text)) onPhase("timing conversions between layers");
		else if (/Detected \d+ inputs? and \d+ output/.test(text)) onPhase("kernels are chosen");
	};
}
