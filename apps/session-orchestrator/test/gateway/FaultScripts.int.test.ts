/**
 * Runs generated fault scripts of each format over sockets: one answer a call, and its bytes as the endpoint sent them, less heartbeats.
 *
 * `HOLDFAST_MODEL_RUNS=200` is the whole form; a run of the suite has fewer.
 */
import { describe, expect, it } from "@effect/vitest"
import { ContentGate, Dialects } from "@holdfast/providers/dialects"
import { Duration, Effect } from "effect"
import * as fc from "fast-check"
import { createHash } from "node:crypto"
import * as Zlib from "node:zlib"
import * as FaultScripts from "../../../../packages/providers/test/dialects/FaultScripts.ts"
import { type WireFormat, wireFormats } from "../../../../packages/providers/test/harness/WireFormats.ts"
import * as GatewayRig from "./GatewayRig.ts"
import type * as RawEndpoint from "./RawEndpoint.ts"

const RUNS = Math.min(200, Number(process.env["HOLDFAST_MODEL_RUNS"] ?? 5))

/** Calls at once. */
const AT_ONCE = 8

/** No wait is longer than a script. */
const AT_ONCE_AGAIN = {
  schedule: { type: "steps", delays: [Duration.millis(1)], tail: Duration.millis(1) },
  hints: false
} as const

const pathOf = ({ format, target }: WireFormat): string =>
  format === "messages" ? `/to/claude${target}` : `/to/own${target.replace(/^\/v1(?:beta)?/u, "")}`

/** Whether an attempt fails in a way that is retried. */
const isRetried = (wire: WireFormat, { breaks, head, reads }: FaultScripts.Attempt): boolean => {
  const dialect = Dialects.byFormat[wire.format]
  const gate = ContentGate.make({ dialect, framing: "events", head })
  for (const read of reads) gate.feed(read)
  if (breaks === undefined) gate.end()
  else gate.broken(new Error("other side closed"))
  const standing = gate.standing()
  return standing.kind === "failed" && standing.failure.retryable
}

const send = async (
  { response }: RawEndpoint.Received,
  { breaks, head, reads }: FaultScripts.Attempt,
  isCompressed: boolean
): Promise<void> => {
  const coding = isCompressed ? { "content-encoding": "gzip" } : {}
  response.writeHead(head.status, { ...head.headers, ...coding, "content-type": "text/event-stream" })
  response.flushHeaders()
  const gzip = Zlib.createGzip()
  const write = (bytes: Uint8Array | null) =>
    new Promise<void>((resolve) => void response.write(bytes, () => resolve()))
  for (const read of reads) {
    if (read.length === 0) continue
    if (!isCompressed) await write(read)
    else {
      gzip.write(read)
      await new Promise<void>((resolve) => gzip.flush(Zlib.constants.Z_SYNC_FLUSH, resolve))
      await write(gzip.read())
    }
  }
  if (breaks !== undefined) return void response.destroy()
  if (isCompressed) gzip.end().pipe(response)
  else response.end()
}

const sha256 = (pieces: ReadonlyArray<Uint8Array>) =>
  pieces.reduce((hash, piece) => hash.update(piece), createHash("sha256")).digest("hex")

describe("a call through any failures", () => {
  const formats = wireFormats.flatMap((wire) => [
    { format: wire.format, wire, isCompressed: false },
    { format: `${wire.format}, compressed,`, wire, isCompressed: true }
  ])
  it.live.each(formats)(
    "rule X13, C13: of $format has one answer, with the endpoint's bytes",
    ({ isCompressed, wire }) =>
      Effect.gen(function* () {
        const seed = Number(process.env["HOLDFAST_SEED"] ?? Date.now())
        const scripts = fc.sample(FaultScripts.scripts(wire, "events"), { numRuns: RUNS, seed })
        const attempts = new Map<number, number>()
        const { service } = yield* GatewayRig.start({
          retry: AT_ONCE_AGAIN,
          answer: (call) => {
            void call.body.then((body) => {
              const id = Number(/"id":(\d+)/u.exec(String(body))?.[1])
              const n = attempts.get(id) ?? 0
              attempts.set(id, n + 1)
              const script = scripts[id]
              return script && send(call, script.failures[n] ?? script.answer, isCompressed)
            })
          }
        })
        const one = Effect.fnUntraced(function* ({ answer, failures }: FaultScripts.Script, id: number) {
          const ask = { model: "m", stream: true, metadata: { id } }
          const got = yield* GatewayRig.post(service.port, pathOf(wire), ask, {
            authorization: "Bearer sk-client-0123456789"
          })
          const final = failures.findIndex((failure) => !isRetried(wire, failure))
          const what = `seed ${seed}, script ${id}: ${failures.map(({ name }) => name).join(", ")}`
          expect([what, attempts.get(id)]).toEqual([what, (final === -1 ? failures.length : final) + 1])
          if (final !== -1) return
          expect([what, got.status, got.isCut]).toEqual([what, 200, false])
          // An answer may break off behind its end mark. Its own pings at its beginning may be like heartbeats.
          const bare = (bytes: Buffer) => sha256([GatewayRig.withoutBeats(wire.format, bytes)])
          const body = isCompressed ? Zlib.gunzipSync(got.body, { finishFlush: Zlib.constants.Z_SYNC_FLUSH }) : got.body
          expect([what, bare(body)]).toEqual([what, bare(Buffer.concat(answer.reads))])
        })
        yield* Effect.forEach(scripts, one, { concurrency: AT_ONCE, discard: true })
      }).pipe(Effect.scoped)
  )
})
