/** The waits of the configuration, and of the changed settings, on one line of time. */
import type { SchedulePreview } from "@holdfast/wire/api"
import { useId, useState } from "react"
import * as Moments from "../text/Moments.ts"
import { Count } from "@holdfast/wire"

interface SchedulePictureProps {
  readonly present: SchedulePreview.SchedulePreview
  /** The schedule of the changed settings; absent: none is changed. */
  readonly changed: SchedulePreview.SchedulePreview | undefined
}

/** Percent of the width that stay free at both ends, so that marks are whole. */
const MARGIN = 1.5

const PARTS: ReadonlyArray<readonly [ms: number, words: string]> = [
  [Number.POSITIVE_INFINITY, "all of it"],
  [3_600_000, "the first hour"],
  [300_000, "the first 5 minutes"]
]

/** The picture, and the same as a table. */
export const SchedulePicture = ({ changed, present }: SchedulePictureProps) => {
  const id = useId()
  const [part, setPart] = useState(Number.POSITIVE_INFINITY)
  const lanes = [...lanesOf("as configured", present), ...(changed === undefined ? [] : lanesOf("as changed", changed))]
  const length = Math.min(part, lengthOf(lanes))
  const x = (ms: number): string => `${(MARGIN + (100 - 2 * MARGIN) * (ms / length)).toFixed(2)}%`
  return (
    <section className="schedule" aria-labelledby={`${id}-head`}>
      <div className="schedule-head">
        <h2 id={`${id}-head`}>The waits while an endpoint fails</h2>
        <div className="field">
          <label htmlFor={`${id}-part`}>Show</label>
          <select id={`${id}-part`} value={part} onChange={({ target }) => setPart(Number(target.value))}>
            {PARTS.map(([ms, words]) => (
              <option key={words} value={ms}>
                {words}
              </option>
            ))}
          </select>
        </div>
      </div>
      <ul className="lanes">
        {lanes.map((lane) => (
          <li key={lane.label}>
            <p className="lane-label">{lane.label}</p>
            <svg className="lane" role="img" aria-label={wordsOf(lane)}>
              <line
                className="waits"
                x1={x(0)}
                x2={x(Math.min(length, lane.calls.at(-1)?.atMs ?? 0))}
                y1="12"
                y2="12"
              />
              {lane.calls
                .filter(({ atMs }) => atMs <= length)
                .map((call, index) => (
                  <Mark
                    key={index}
                    x={x(call.atMs)}
                    call={call}
                    isEnd={lane.because !== undefined && call === lane.calls.at(-1)}
                  />
                ))}
            </svg>
          </li>
        ))}
      </ul>
      <div className="lane-axis" aria-hidden="true">
        {ticksOf(length).map((ms) => (
          <span key={ms} style={{ left: x(ms) }}>
            {ms === 0 ? "0" : Moments.duration(ms)}
          </span>
        ))}
      </div>
      <p className="lane-legend quiet">
        <span>
          <i className="mark call" /> a call fails
        </span>
        <span>
          <i className="mark switch" /> on another model
        </span>
        <span>
          <i className="mark end" /> the last call: the turn fails
        </span>
      </p>
      {[
        { name: "As configured", preview: present },
        ...(changed === undefined ? [] : [{ name: "As changed", preview: changed }])
      ].map(({ name, preview }) => (
        <p key={name}>
          {name}: {preview.conclusion}
        </p>
      ))}
      <Table present={present} changed={changed} />
    </section>
  )
}

// The waits of policies as lanes of one line of time. Pure.

/** One lane: the calls after a first failure, in milliseconds after it. */
interface Lane {
  readonly label: string
  readonly calls: ReadonlyArray<Call>
  /** Why the turn fails behind the last call; absent: it goes on. */
  readonly because?: string | undefined
}

/** A call of a lane. */
interface Call {
  readonly atMs: number
  /** The target, where it is another one than that of the call before. */
  readonly switchedTo?: string | undefined
}

/** A lane of the schedule, and one for each kind of failure that is treated in its own way. */
export const lanesOf = (name: string, preview: SchedulePreview.SchedulePreview): ReadonlyArray<Lane> => [
  {
    label: name,
    calls: [{ atMs: 0 }, ...preview.rows.map(({ atMs }) => ({ atMs }))],
    ...(preview.isWhole ? { because: preview.conclusion } : {})
  },
  ...preview.kinds.map(({ because, kinds, steps }): Lane => {
    let atMs = 0
    let target = preview.model
    const calls = steps.map((step): Call => {
      atMs += step.delayMs
      const switchedTo = step.target === target ? undefined : step.target
      target = step.target
      return { atMs, switchedTo }
    })
    return { label: `${name}: ${kinds.join(", ")}`, calls: [{ atMs: 0 }, ...calls], because }
  })
]

/** The length of time that shows all calls of all lanes. */
export const lengthOf = (lanes: ReadonlyArray<Lane>): number =>
  Math.max(1_000, ...lanes.map(({ calls }) => calls.at(-1)?.atMs ?? 0))

/** The words of a lane, for people who do not see it. */
export const wordsOf = ({ because, calls, label }: Lane): string => {
  const retries = calls.length - 1
  const switches = new Set(calls.flatMap(({ switchedTo }) => switchedTo ?? []))
  return [
    `${label}: ${Count.of(retries, "retry", "retries")} within ${Moments.duration(calls.at(-1)?.atMs ?? 0)}`,
    ...(switches.size === 0 ? [] : [`over ${[...switches].join(", ")}`]),
    ...(because === undefined ? ["and so on"] : ["then the turn fails"])
  ].join(", ")
}

/** Marks of the axis at round times, at most seven. */
export const ticksOf = (lengthMs: number): ReadonlyArray<number> => {
  const step = STEPS.find((step) => lengthMs / step <= MOST_TICKS) ?? Math.ceil(lengthMs / MOST_TICKS / DAY) * DAY
  return Array.from({ length: Math.floor(lengthMs / step) + 1 }, (_, n) => n * step)
}

// --- internal

interface MarkProps {
  readonly x: string
  readonly call: Call
  readonly isEnd: boolean
}

const Mark = ({ call: { atMs, switchedTo }, isEnd, x }: MarkProps) => (
  <line
    className={isEnd ? "end" : switchedTo === undefined ? "call" : "switch"}
    x1={x}
    x2={x}
    y1={isEnd ? 3 : 6}
    y2={isEnd ? 21 : 18}
  >
    <title>{`${Moments.duration(atMs)}${switchedTo === undefined ? "" : `, ${switchedTo}`}`}</title>
  </line>
)

const Table = ({ changed, present }: SchedulePictureProps) => {
  const previews = [present, ...(changed === undefined ? [] : [changed])]
  const most = Math.max(...previews.map(({ rows }) => rows.length))
  return (
    <details className="tool">
      <summary>As a table</summary>
      <div className="wide" tabIndex={0} role="region" aria-label="Retries as a table">
        <table>
          <thead>
            <tr>
              <th scope="col">retry</th>
              <th scope="col">wait, as configured</th>
              <th scope="col">since the first failure</th>
              {changed !== undefined && <th scope="col">wait, as changed</th>}
              {changed !== undefined && <th scope="col">since the first failure</th>}
            </tr>
          </thead>
          <tbody>
            {Array.from({ length: most }, (_, retry) => (
              <tr key={retry}>
                <th scope="row">{retry + 1}</th>
                {previews.map(({ rows }, column) => (
                  <Cells key={column} row={rows[retry]} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}

const Cells = ({ row }: { readonly row: SchedulePreview.RetryRow | undefined }) => (
  <>
    <td>{row === undefined ? "–" : `${Moments.duration(row.delayMs)}${row.clipped ? " (cut)" : ""}`}</td>
    <td>{row === undefined ? "–" : Moments.duration(row.atMs)}</td>
  </>
)

const MOST_TICKS = 6
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const STEPS = [
  ...[1, 2, 5, 10, 30].map((n) => n * 1_000),
  ...[1, 2, 5, 10, 30].map((n) => n * MINUTE),
  ...[1, 2, 4, 12].map((n) => n * HOUR),
  DAY
]
