// One sortable table in a container that scrolls on narrow screens.
import { html, type Markup, type Piece } from "./markup.ts";

export interface Column<Row> {
	title: string;
	numeric?: boolean;
	/** The row's own heading. */
	heading?: boolean;
	/** Long text that may break. */
	wraps?: boolean;
	/** Drawn under the title. */
	axis?: Markup;
	cell(row: Row): Piece;
	/** What the column sorts by, where it is not the text. Null goes last. */
	sortBy?(row: Row): number | string | null;
}

function headCell<Row>(column: Column<Row>): Markup {
	const style = column.numeric === true ? html` class="n"` : null;
	return html`<th scope="col"${style} aria-sort="none"><button type="button" disabled>${column.title}</button>${column.axis ?? null}</th>`;
}

function bodyCell<Row>(column: Column<Row>, row: Row): Markup {
	const content = column.cell(row);
	const sort = column.sortBy === undefined ? null : html` data-v="${column.sortBy(row) ?? ""}"`;
	if (column.heading === true) return html`<th scope="row"${sort}>${content}</th>`;
	const style = column.numeric === true ? html` class="n"` : column.wraps === true ? html` class="wrap"` : null;
	return html`<td${style}${sort}>${content}</td>`;
}

/** `label` names the table for those who cannot see it. */
export function sortableTable<Row>(label: string, columns: readonly Column<Row>[], rows: readonly Row[]): Markup {
	const head = columns.map(headCell);
	const body = rows.map((row) => html`<tr>${columns.map((column) => bodyCell(column, row))}</tr>\n`);
	return html`<div class="scroll" role="region" aria-label="${label}" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>
${body}</tbody></table></div>
`;
}
