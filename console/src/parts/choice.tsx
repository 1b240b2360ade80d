/** What an MCP instance offers to agents: one of a few, with a sentence on what that means. */
import type { VNode } from "preact";
import type { Schema } from "../api";
import { agentTexts as t } from "../i18n/agents";
import { MOST_NAMED } from "../rules/agents";

export type Offering = Pick<Schema<"McpAnswer">, "tools" | "reading" | "texts">;

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly about?: string;
  readonly value: T;
  readonly of: Readonly<Record<T, string>>;
  readonly onChoose: (value: T) => void;
}

export function Choice<T extends string>({ label, about, value, of, onChoose }: ChoiceProps<T>): VNode {
  const id = `about ${label}`.replaceAll(" ", "-");
  return (
    <div class="stack tight">
      <label class="stack">{label}
        <select value={value} aria-describedby={about ? id : undefined} onChange={(event) => onChoose(event.currentTarget.value as T)}>
          {Object.entries<string>(of).map(([name, text]) => <option key={name} value={name}>{text}</option>)}
        </select>
      </label>
      {about ? <span id={id} class="dim small">{about}</span> : null}
    </div>
  );
}

interface OffersProps {
  readonly value: Offering;
  /** How many Search Tools its agents see. */
  readonly bound: number;
  readonly onChoose: (change: Partial<Offering>) => void;
}

export function Offers({ value, bound, onChoose }: OffersProps): VNode {
  return (
    <>
      <div class="cards">
        <Choice label={t().offers} about={t().offersAbout} value={value.tools} of={{ named: t().named, single: t().single, connector: t().connector }} onChoose={(tools) => onChoose({ tools })} />
        <Choice label={t().reading} about={t().readingAbout} value={value.reading} of={{ on: t().reading_on, off: t().reading_off }} onChoose={(reading) => onChoose({ reading })} />
        <Choice label={t().texts} about={t().textsAbout} value={value.texts} of={{ anyone: t().anyone, ours: t().ours }} onChoose={(texts) => onChoose({ texts })} />
      </div>
      {value.tools === "named" && bound > MOST_NAMED ? (
        <div class="bar warn" role="status"><span>{t().many(bound)}</span><button type="button" onClick={() => onChoose({ tools: "single" })}>{t().useSingle}</button></div>
      ) : null}
    </>
  );
}
