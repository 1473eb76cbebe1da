// What a metric says of one output, or of one slice of it.

export interface Measured {
	/** NaN where the metric is not defined; NaN never passes. */
	value: number;
	/** Pairs of elements that the value speaks of. */
	elements: number;
	/** Flat index of the place to look at; -1 where there is none. */
	worstAt: number;
	detail?: string;
}

/** What a comparator asks of its metric; each metric reads what it needs. */
export interface Question {
	rtol: number;
	atol: number;
	k: number;
	/** The class axis, counted from the end where negative. */
	axis: number;
	input: "logits" | "probabilities";
	/** What a probability of 0 from the engine is read as; 0 makes the divergence infinite. */
	zeroProbability: number;
}
