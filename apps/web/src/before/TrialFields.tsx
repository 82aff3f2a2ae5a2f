/** The fields of a dry run: outages, and the settings to change. Errors of the service are beside them. */
import { type ReactNode, useId } from "react"
import { ModelList } from "../conversation/ModelForm.tsx"
import type * as TrialForm from "./TrialForm.ts"

interface TrialFieldsProps {
  readonly fields: TrialForm.TrialValues
  readonly onChange: (fields: TrialForm.TrialValues) => void
  readonly faults: ReadonlyMap<TrialForm.Field | "form", ReadonlyArray<string>>
  /** The configured value of each setting, in words. */
  readonly configured: ReadonlyMap<string, string>
}

/** Outages that a click adds. */
const EXAMPLES = ["529 for 7h", "429 for 1h;retry-after=60", "503 for 20m,ok for 10m,503 for 2h", "ok+first-token-20s"]

/** The fields of outages, or of the record. */
export const OutageFields = ({ faults, fields, onChange }: Omit<TrialFieldsProps, "configured">) => {
  const id = useId()
  const set = (change: Partial<TrialForm.TrialValues>): void => onChange({ ...fields, ...change })
  const input = inputOf({ id, faults, fields, onChange })
  return (
    <fieldset>
      <legend>What turns meet</legend>
      <div className="choices" role="radiogroup" aria-label="Turns">
        {[false, true].map((isReplay) => (
          <label key={String(isReplay)}>
            <input
              type="radio"
              name={`${id}-kind`}
              checked={fields.isReplay === isReplay}
              onChange={() => set({ isReplay })}
            />{" "}
            {isReplay ? "turns of the record, again" : "new turns, in outages"}
          </label>
        ))}
      </div>
      {fields.isReplay ? (
        input("since", "Since", { type: "datetime-local" })
      ) : (
        <>
          <Labelled id={`${id}-outages`} words="Outages, one a line" faults={faults.get("outages")}>
            {(described) => (
              <textarea
                id={`${id}-outages`}
                rows={3}
                spellCheck={false}
                value={fields.outages}
                placeholder="529 for 7h"
                onChange={({ target }) => set({ outages: target.value })}
                {...described}
              />
            )}
          </Labelled>
          <p className="examples">
            <span className="quiet">Add: </span>
            {EXAMPLES.map((example) => (
              <button
                key={example}
                type="button"
                className="tag"
                onClick={() =>
                  set({ outages: [fields.outages.trim(), example].filter((line) => line !== "").join("\n") })
                }
              >
                {example}
              </button>
            ))}
          </p>
          <p className="quiet">
            With <code>provider=</code> or <code>provider/model=</code> before it an outage is for that one alone.
          </p>
        </>
      )}
      <div className="fields">
        {!fields.isReplay && input("turns", "Turns within a minute", { inputMode: "numeric" })}
        {input("hours", "Hours at most", { inputMode: "numeric" })}
      </div>
    </fieldset>
  )
}

/** The settings that are changed. */
export const SettingFields = ({ configured, faults, fields, onChange }: TrialFieldsProps) => {
  const id = useId()
  const input = inputOf({ id, faults, fields, onChange })
  const select = (name: TrialForm.Field, words: string, choices: ReadonlyArray<string>, present?: string) => (
    <Labelled id={`${id}-${name}`} words={words} faults={faults.get(name)} isWide={present !== undefined}>
      {(described) => (
        <select
          id={`${id}-${name}`}
          value={fields[name]}
          onChange={({ target }) => onChange({ ...fields, [name]: target.value })}
          {...described}
        >
          <option value="">{present === undefined ? "as configured" : `as configured: ${present}`}</option>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  )
  const now = (name: string) => ({ placeholder: configured.get(name) ?? "as configured" })
  return (
    <fieldset>
      <legend>Changed settings</legend>
      <p className="quiet">An empty field is as configured. Durations are written as “30 minutes”.</p>
      <div className="fields">
        {select("profile", "Profile", ["overnight", "weekly", "interactive", "cycling"], configured.get("profile"))}
        {input("model", "Model", { ...now("model"), list: `${id}-models` })}
        {select("scheduleType", "Schedule", ["steps", "exponential", "linear"])}
        {input("schedule", "Its waits, or its first wait", now("schedule"))}
        {input("maxRetries", "Retries at most", { ...now("maxRetries"), inputMode: "numeric" })}
        {input("budget", "Budget of waiting", now("budget"))}
        {input("maxDelay", "Longest wait", now("maxDelay"))}
        {input("jitter", "Jitter, 0 to 1", { ...now("jitter"), inputMode: "decimal" })}
        {select("midStream", "An answer that breaks off", ["fail", "discard", "unseen"])}
        {input("fallbacks", "Fallback chain", {
          placeholder: configured.get("routing") ?? "provider/model provider/model"
        })}
      </div>
      <ModelList id={`${id}-models`} />
    </fieldset>
  )
}

// --- internal

interface Described {
  readonly "aria-invalid": boolean
  readonly "aria-describedby": string | undefined
}

interface LabelledProps {
  readonly id: string
  readonly words: string
  readonly faults: ReadonlyArray<string> | undefined
  /** Its text needs the whole row. */
  readonly isWide?: boolean
  readonly children: (described: Described) => ReactNode
}

/** A field with its label, and the errors of the service below it. */
const Labelled = ({ children, faults = [], id, isWide = false, words }: LabelledProps) => (
  <div className={isWide ? "field wide-field" : "field"}>
    <label htmlFor={id}>{words}</label>
    {children({
      "aria-invalid": faults.length > 0,
      "aria-describedby": faults.length > 0 ? `${id}-fault` : undefined
    })}
    <p id={`${id}-fault`} className="error-text" aria-live="polite">
      {faults.join(" ")}
    </p>
  </div>
)

interface InputOptions {
  readonly type?: "datetime-local"
  readonly inputMode?: "numeric" | "decimal"
  readonly placeholder?: string
  readonly list?: string
}

const inputOf =
  ({ faults, fields, id, onChange }: Omit<TrialFieldsProps, "configured"> & { readonly id: string }) =>
  (name: TrialForm.Field, words: string, options: InputOptions) => (
    <Labelled id={`${id}-${name}`} words={words} faults={faults.get(name)}>
      {(described) => (
        <input
          id={`${id}-${name}`}
          autoComplete="off"
          spellCheck={false}
          value={fields[name]}
          onChange={({ target }) => onChange({ ...fields, [name]: target.value })}
          {...options}
          {...described}
        />
      )}
    </Labelled>
  )
