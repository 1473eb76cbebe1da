// Property tests draw the same values every time, so that a red run can be run again; another seed is one variable away.
import fc from "fast-check";

const seed = Number(process.env["PROPERTY_SEED"] ?? "20260101");

// A failing property must end: shrinking a large counterexample may otherwise take for ever. On a busy machine a good one has taken more than 20 s.
fc.configureGlobal({ seed, interruptAfterTimeLimit: 120_000, markInterruptAsFailure: true });
