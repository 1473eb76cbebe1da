// The top of the page: state, headline, facts, notices and stories.
import type { Outcome, Result } from "../../schema/result.ts";
import { armName, counted, gateTitle, outcomeLabels, type Tone } from "../../text/labels.ts";
import { cleanMessage } from "../comparison-format.ts";
import { countsText, jobFacts, noBaseText, partialText } from "../facts.ts";
import { headline } from "../headline.ts";
import { flagsAsCode, type Highlight, type HighlightSeverity } from "../highlight.ts";
import { highlights } from "../highlights.ts";
import { html, type Markup, type Piece } from "./markup.ts";
import { folded, logExcerpt, phrase, pill } from "./parts.ts";

/** Told at once; the others are folded, so that the table is not pushed off the screen. */
const openHighlights = 6;
const mostHighlights = 200;

const outcomeTones: Readonly<Record<Outcome, Tone>> = { pass: "ok", warn: "warn", fail: "bad", inconclusive: "open", error: "bad" };

const severityTones: Readonly<Record<HighlightSeverity, Tone>> = {
	fail: "bad",
	error: "bad",
	inconclusive: "open",
	warn: "warn",
	note: "plain",
};
/** Words beside the colour of the border, for those who do not see it. */
const severityLabels: Readonly<Record<HighlightSeverity, string>> = {
	fail: "fails",
	error: "error",
	inconclusive: "inconclusive",
	warn: "warns",
	note: "note",
};

function armsLine(result: Result): Piece {
	const { base, head } = result.arms;
	if (base === null) return html`head <code>${armName(head)}</code>, no base`;
	return html`base <code>${armName(base)}</code> → head <code>${armName(head)}</code>`;
}

export function pageHeader(result: Result): Markup {
	const facts = jobFacts(result).map(({ label, value }) => html`<li>${label} <b>${value}</b></li>`);
	const counts = countsText(result);
	return html`<header>
<h1>${pill(outcomeLabels[result.outcome], outcomeTones[result.outcome])} <span>${gateTitle(result.backend)}: ${headline(result)}</span></h1>
<p class="sub">${counts === "" ? "" : `${counts} · `}${armsLine(result)}</p>
<ul class="facts" aria-label="facts">${facts}</ul>
</header>
`;
}

export function noticesPart(result: Result): Piece {
	const partial = partialText(result);
	const noBase = noBaseText(result);
	return [
		partial === null ? null : html`<p class="notice" role="note"><b>${partial}</b></p>`,
		noBase === null ? null : html`<p class="notice plain" role="note">${noBase}</p>`,
		result.notes.length === 0
			? null
			: html`<div class="notice plain" role="note">${result.notes.slice(0, 30).map((note) => html`<p>${cleanMessage(note)}</p>`)}</div>`,
	];
}

function highlightCard(highlight: Highlight): Markup {
	const lines = highlight.excerpt ?? [];
	const sentences = highlight.sentences.map((sentence) => [phrase(sentence), " "]);
	return html`<article class="story ${severityTones[highlight.severity]}"><h2>${highlight.title} ${pill(severityLabels[highlight.severity], severityTones[highlight.severity])}</h2>
<p>${sentences}</p>${highlight.fix === undefined ? null : html`<p><b>Next:</b> ${phrase(flagsAsCode(highlight.fix))}</p>`}${lines.length === 0 ? null : folded("Log excerpt", logExcerpt(lines))}</article>
`;
}

export function highlightsPart(result: Result): Piece {
	const told = highlights(result);
	const rest = told.slice(openHighlights, mostHighlights).map(highlightCard);
	const hidden = told.length - mostHighlights;
	const more = hidden > 0 ? html`<p class="more">… and ${counted(hidden, "more thing")}; the table of all checks names each.</p>` : null;
	return [
		told.slice(0, openHighlights).map(highlightCard),
		rest.length === 0 ? null : folded(`${counted(told.length - openHighlights, "more thing")} to tell of`, [rest, more]),
	];
}
