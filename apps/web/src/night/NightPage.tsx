/** The night: the report of a period, its turns on a line of time, and why a turn did what it did. */
import { Count, type TurnState } from "@holdfast/wire"
import { useDeferredValue, useId, useState } from "react"
import { BulkBar } from "../bulk/BulkBar.tsx"
import { Explanation } from "../explain/Explanation.tsx"
import { ReadFailure } from "../shell/ReadFailure.tsx"
import { Figures } from "./Figures.tsx"
import * as Period from "./Period.ts"
import type { Selection } from "./TurnRow.tsx"
import { TurnTimeline } from "./TurnTimeline.tsx"
import { type Filter, useNight, useReport } from "./useNight.ts"
import "./night.css"

/** The page of the night. */
export const NightPage = () => {
  const [filter, setFilter] = useState<Filter>({
    hours: Period.NIGHT_HOURS,
    status: undefined,
    model: "",
    tag: "",
    search: ""
  })
  const [selected, setSelected] = useState<Selection | undefined>(undefined)
  const deferred = useDeferredValue(filter)
  const night = useNight(deferred)
  const report = useReport(filter.hours)
  const error = night.error ?? report.error
  return (
    <main id="detail" className="wide-page" tabIndex={-1}>
      <title>Report · Holdfast</title>
      <div className="night-head">
        <h1>Report of the night</h1>
        <Filters filter={filter} onChange={setFilter} />
      </div>
      <ReadFailure error={error} />
      {report.data !== undefined && <Figures report={report.data} />}
      <div className={selected === undefined ? "night-body" : "night-body explained"}>
        {night.data === undefined ? (
          error === null && <p className="quiet">Reading …</p>
        ) : (
          <section aria-label="Turns">
            <p className="quiet" role="status">
              {night.data.isPartial ? "Reading …" : Count.of(night.data.turns.length, "turn")}
              {night.data.isCut && ", and more: narrow the filter"}
            </p>
            {/* A command is for all turns that match. */}
            <BulkBar turns={night.data.isPartial ? [] : night.data.turns} />
            <TurnTimeline
              night={night.data}
              outages={report.data?.outages ?? NONE}
              selected={selected?.turn.turnId}
              onSelect={setSelected}
            />
          </section>
        )}
        {selected !== undefined && (
          <Explanation
            key={selected.turn.turnId}
            turn={selected.turn}
            at={selected.at}
            onClose={() => setSelected(undefined)}
          />
        )}
      </div>
    </main>
  )
}

// --- internal

/** One list for all renders: a row with the same outages is not drawn again. */
const NONE: Parameters<typeof TurnTimeline>[0]["outages"] = []

const STATUSES: ReadonlyArray<readonly [TurnState.TurnState["status"], string]> = [
  ["waiting", "waiting"],
  ["running", "running"],
  ["queued", "queued"],
  ["completed", "done"],
  ["failed", "failed"],
  ["aborted", "aborted"]
]

interface FiltersProps {
  readonly filter: Filter
  readonly onChange: (filter: Filter) => void
}

const Filters = ({ filter, onChange }: FiltersProps) => {
  const id = useId()
  const field = (name: "model" | "tag" | "search", words: string, placeholder: string) => (
    <div>
      <label htmlFor={`${id}-${name}`}>{words}</label>
      <input
        id={`${id}-${name}`}
        type={name === "search" ? "search" : "text"}
        value={filter[name]}
        placeholder={placeholder}
        autoComplete="off"
        onChange={({ target }) => onChange({ ...filter, [name]: target.value })}
      />
    </div>
  )
  return (
    <div className="filters" role="search" aria-label="Turns">
      <div>
        <label htmlFor={`${id}-hours`}>Period</label>
        <select
          id={`${id}-hours`}
          value={filter.hours}
          onChange={({ target }) => onChange({ ...filter, hours: Number(target.value) })}
        >
          {Period.CHOICES.map(([hours, words]) => (
            <option key={hours} value={hours}>
              {words}
            </option>
          ))}
        </select>
      </div>
      <div>
        <label htmlFor={`${id}-status`}>Status</label>
        <select
          id={`${id}-status`}
          value={filter.status ?? ""}
          onChange={({ target }) =>
            onChange({ ...filter, status: STATUSES.find(([status]) => status === target.value)?.[0] })
          }
        >
          <option value="">all</option>
          {STATUSES.map(([status, words]) => (
            <option key={status} value={status}>
              {words}
            </option>
          ))}
        </select>
      </div>
      {field("model", "Model", "provider/model")}
      {field("tag", "Tag", "nightly")}
      {field("search", "Search", "prompt or answer")}
    </div>
  )
}
