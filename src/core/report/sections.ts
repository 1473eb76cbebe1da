// The sections in the order of every report.
import type { ReportSection } from "./section.ts";
import { buildSection, errorSection, findingSection } from "./sections/builds.ts";
import {
	coverageSection,
	interfaceSection,
	limitChangeSection,
	recipeSection,
	trendSection,
} from "./sections/changes.ts";
import { goldenChangeSection } from "./sections/golden-changes.ts";
import { goldenSection } from "./sections/goldens.ts";
import { graphCostSection } from "./sections/graph-costs.ts";
import { memoryGrowthSection, startUpSection } from "./sections/lifetime.ts";
import { loadSection, measuredLoadSection, togetherSection } from "./sections/load.ts";
import {
	checkSection,
	environmentSection,
	fileSection,
	highlightSection,
	methodSection,
	nextStepSection,
	noteSection,
	noticeSection,
	partSection,
	upgradeSection,
} from "./sections/overview.ts";
import { calibrationSection, precisionSection } from "./sections/precision.ts";
import { bisectionSection, probeSection } from "./sections/probes.ts";
import { siblingSection } from "./sections/siblings.ts";
import { sweepSection } from "./sections/sweeps.ts";
import { evidenceSection, workloadSection } from "./sections/workloads.ts";

export const reportSections: readonly ReportSection[] = [
	upgradeSection,
	noticeSection,
	highlightSection,
	noteSection,
	partSection,
	workloadSection,
	sweepSection,
	siblingSection,
	loadSection,
	measuredLoadSection,
	togetherSection,
	startUpSection,
	memoryGrowthSection,
	evidenceSection,
	graphCostSection,
	trendSection,
	recipeSection,
	calibrationSection,
	interfaceSection,
	limitChangeSection,
	coverageSection,
	goldenChangeSection,
	goldenSection,
	bisectionSection,
	probeSection,
	buildSection,
	precisionSection,
	findingSection,
	errorSection,
	nextStepSection,
	checkSection,
	methodSection,
	environmentSection,
	fileSection,
];
