/**
 * Translates between the incidents of this process and the rows that all runners share. Pure.
 *
 * A row has an endpoint's trouble and its causes. What another runner has changed replaces what this process knew; the turns that this
 * process counts stay. A row that cannot be read counts as none: an outage that lasts is detected again. Outcomes that a process takes
 * over are marked as a part if another process may have died with facts that it had not written.
 *
 * SharedIncidents.R2. A row names the runners whose turns wait, and until when. A runner that has not renewed its entry for `ALIVE_MS`
 *     is gone: its turns continue elsewhere, and one of them counts as waiting until the last of its waits was due.
 */
import { defined, Target } from "@holdfast/wire"
import { HashMap, Option, Schema } from "effect"
import type { IncidentRow } from "../../../storage/IncidentStates.ts"
import * as Causes from "./Causes.ts"
import * as Incidents from "./Incidents.ts"
import * as Notice from "./Notice.ts"

/** A runner that has not renewed its entry for so long is gone. */
export const ALIVE_MS = 60_000

/** The age at which an entry is renewed. */
const RENEWED_AFTER_MS = 15_000

/** The turns of one runner that wait for an endpoint. Times are in epoch milliseconds. */
const Holder = Schema.Struct({
  /** The end of the longest wait. */
  until: Schema.Finite,
  /** 0: it has left. */
  seenAt: Schema.Finite,
  waiting: Schema.Int,
  /** Its earliest attempt, until the incident is reported. */
  nextAt: Schema.optionalKey(Schema.Finite),
  /** No turn of it waits any more. */
  isDone: Schema.optionalKey(Schema.Literal(true))
})
type Holder = typeof Holder.Type

const Shared = Schema.Struct({
  trouble: Schema.optionalKey(
    Schema.Struct({
      target: Target.Target,
      since: Schema.Finite,
      isTold: Schema.Boolean,
      said: Notice.NoticeFailure,
      outcomes: Schema.optionalKey(Notice.Outcomes),
      endsAt: Schema.optionalKey(Schema.Finite),
      holders: Schema.Record(Schema.String, Holder)
    })
  ),
  causes: Schema.Array(Causes.FailureCause)
})
type Shared = typeof Shared.Type

/** The process that reads or writes, and the moment in epoch milliseconds. */
interface Reader {
  /** The same after a restart if the process is the only one of its database. */
  readonly runner: string
  readonly now: number
}

/** The state of this process with what the rows have. */
export const adopt = (
  state: Incidents.IncidentState,
  rows: ReadonlyArray<IncidentRow>,
  { now, runner }: Reader
): Incidents.IncidentState => {
  let { made } = state
  const causes: Array<Causes.FailureCause> = []
  const troubles: Array<readonly [string, Incidents.Trouble]> = []
  for (const { endpoint, shared } of readable(rows)) {
    causes.push(...shared.causes)
    if (shared.trouble === undefined) continue
    const { endsAt, holders, outcomes, ...trouble } = shared.trouble
    const kept = { ...trouble, ...defined({ endsAt, outcomes }) }
    const others = othersOf(holders, runner, now)
    const known = Option.getOrUndefined(HashMap.get(state.troubles, endpoint))
    if (known?.since === trouble.since) {
      const { endsAt: _ended, outcomes: _outcomes, ...here } = known
      troubles.push([endpoint, { ...here, ...kept, others }])
    } else {
      const waitsUntil = holders[runner]?.until ?? trouble.since
      const left = hasLostFacts(holders, runner, now) ? { outcomes: Notice.inPart(outcomes) } : undefined
      troubles.push([endpoint, Incidents.inherited({ ...kept, ...left, waitsUntil }, made++, others)])
    }
  }
  return { ...state, made, causes: Causes.restore(causes), troubles: HashMap.fromIterable(troubles) }
}

/** The rows that differ from those that were read. `isLeaving`: this process ends, and its turns continue elsewhere. */
export const changes = (
  state: Incidents.IncidentState,
  rows: ReadonlyArray<IncidentRow>,
  reader: Reader,
  isLeaving: boolean
): { readonly rows: ReadonlyArray<IncidentRow>; readonly removed: ReadonlyArray<string> } => {
  const before = new Map(readable(rows).map((row) => [row.endpoint, row]))
  const endpoints = new Set([...HashMap.keys(state.troubles), ...HashMap.keys(state.causes)])
  const attempts = Incidents.nextAttempts(state, reader.now)
  const changed: Array<IncidentRow> = []
  for (const endpoint of endpoints) {
    const trouble = Option.getOrUndefined(HashMap.get(state.troubles, endpoint))
    const known = before.get(endpoint)
    const shared: Shared = {
      ...defined({
        trouble:
          trouble && troubleOf(trouble, known?.shared.trouble, { ...reader, nextAt: attempts.get(endpoint) }, isLeaving)
      }),
      causes: Option.getOrElse(HashMap.get(state.causes, endpoint), () => [])
    }
    const text = encode(shared)
    if (text !== (known && encode(known.shared))) changed.push({ endpoint, state: text })
  }
  return { rows: changed, removed: Array.from(before.keys()).filter((endpoint) => !endpoints.has(endpoint)) }
}

// --- internal

const codec = Schema.fromJsonString(Shared)
const decode = Schema.decodeUnknownOption(codec)
const encode = Schema.encodeSync(codec)

const readable = (rows: ReadonlyArray<IncidentRow>) =>
  rows.flatMap(({ endpoint, state }) =>
    Option.match(decode(state), { onNone: () => [], onSome: (shared) => [{ endpoint, shared }] })
  )

/** Whether a runner has not left, and is not alive. */
const hasLostFacts = (holders: Readonly<Record<string, Holder>>, runner: string, now: number): boolean =>
  Object.entries(holders).some(([name, { isDone, seenAt }]) =>
    name === runner ? seenAt > 0 || isDone === true : seenAt > 0 && seenAt + ALIVE_MS <= now
  )

const othersOf = (holders: Readonly<Record<string, Holder>>, runner: string, now: number): Incidents.Others => {
  const others = Object.entries(holders).flatMap(([name, holder]) => (name === runner ? [] : [holder]))
  const isAlive = ({ seenAt }: Holder) => seenAt + ALIVE_MS > now
  return {
    until: others.reduce((last, one) => Math.max(last, one.until, one.seenAt === 0 ? 0 : one.seenAt + ALIVE_MS), 0),
    orphanedUntil: others.reduce(
      (last, one) => (one.isDone === true || isAlive(one) ? last : Math.max(last, one.until)),
      0
    ),
    waiting: others.reduce((sum, one) => (isAlive(one) ? sum + one.waiting : sum), 0),
    nextAts: others.flatMap((one) => (isAlive(one) && one.nextAt !== undefined ? [one.nextAt] : []))
  }
}

const troubleOf = (
  trouble: Incidents.Trouble,
  before: Shared["trouble"],
  { nextAt, now, runner }: Reader & { readonly nextAt: number | undefined },
  isLeaving: boolean
): NonNullable<Shared["trouble"]> => {
  const { endsAt, isTold, outcomes, said, since, target } = trouble
  const holders = before?.since === since ? before.holders : {}
  const held = holderOf(trouble, holders[runner], now, isLeaving)
  const mine = held && { ...held, ...defined({ nextAt: isTold ? undefined : nextAt }) }
  return {
    target,
    since,
    isTold,
    said,
    ...defined({ outcomes, endsAt }),
    holders: mine === undefined ? holders : { ...holders, [runner]: mine }
  }
}

/** The entry of this process; absent if none of its turns has waited (SharedIncidents.R2). */
const holderOf = (
  trouble: Incidents.Trouble,
  before: Holder | undefined,
  now: number,
  isLeaving: boolean
): Holder | undefined => {
  const { since, waiting, waitsUntil } = trouble
  if (waitsUntil <= since) return undefined
  if (!Incidents.isHeld(trouble, now)) {
    if (trouble.hasMoved) return { until: waitsUntil, seenAt: 0, waiting: 0 }
    // The moment since which nothing waits is written once.
    return before?.isDone === true ? before : { until: Math.min(waitsUntil, now), seenAt: 0, waiting: 0, isDone: true }
  }
  const seenAt = before !== undefined && now - before.seenAt < RENEWED_AFTER_MS ? before.seenAt : now
  return { until: waitsUntil, seenAt: isLeaving ? 0 : seenAt, waiting }
}
