// The sections of a report, in the order in which every format shows them: the one place that knows them all.
import type { ReportSection } from "./section.ts";
import { bisectionSection } from "./sections/bisections.ts";
import { buildSection } from "./sections/builds.ts";
import { checkSection, methodSection } from "./sections/checks.ts";
import { environmentSection } from "./sections/environment.ts";
import { errorSection } from "./sections/errors.ts";
import { fileSection } from "./sections/files.ts";
import { findingSection } from "./sections/findings.ts";
import { goldenChangeSection } from "./sections/golden-changes.ts";
import { goldenSection } from "./sections/goldens.ts";
import { graphCostSection } from "./sections/graph-costs.ts";
import { highlightSection, nextStepSection } from "./sections/highlights.ts";
import { interfaceSection } from "./sections/interfaces.ts";
import { noteSection, noticeSection } from "./sections/notices.ts";
import { partSection } from "./sections/parts.ts";
import { probeSection } from "./sections/probes.ts";
import { recipeSection } from "./sections/recipes.ts";
import { coverageSection, limitChangeSection } from "./sections/requirements.ts";
import { soakSection } from "./sections/soak.ts";
import { trendSection } from "./sections/trend.ts";
import { upgradeSection } from "./sections/upgrade.ts";
import { evidenceSection } from "./sections/workload-details.ts";
import { workloadSection } from "./sections/workloads.ts";

export const reportSections: readonly ReportSection[] = [
	noticeSection,
	noteSection,
	highlightSection,
	upgradeSection,
	partSection,
	workloadSection,
	evidenceSection,
	graphCostSection,
	soakSection,
	trendSection,
	recipeSection,
	interfaceSection,
	limitChangeSection,
	coverageSection,
	goldenChangeSection,
	goldenSection,
	bisectionSection,
	probeSection,
	buildSection,
	findingSection,
	errorSection,
	nextStepSection,
	checkSection,
	methodSection,
	environmentSection,
	fileSection,
];
