/** Tests what an attempt does at each step to its endpoint, its client and the kernel, without sockets. */
import { expect, it } from "@effect/vitest"
import type { ProviderCall } from "@holdfast/kernel/host"
import type * as RawCall from "@holdfast/providers/raw"
import * as Relay from "../../src/gateway/Relay.ts"
import * as Relayed from "./Relayed.ts"

const FRAMES = {
  role: 'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n',
  text: 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n',
  ping: ": ping\n\n",
  done: "data: [DONE]\n\n"
}

/** Does each step, which is named by its first word, and returns it with all that followed from it. */
const played = (steps: string): string => {
  let log: Array<unknown> = []
  let endpoint: Parameters<RawCall.Send>[1] | undefined
  const is = { busy: false, full: false, drained: () => {} }
  const note = (what: unknown): void => void log.push(what)
  const send: RawCall.Send = (_request, listener) => {
    endpoint = listener
    return { resume: () => note("resume"), close: () => note("close") }
  }
  const nameOf = (bytes: Uint8Array) => Object.entries(FRAMES).find(([, text]) => Buffer.from(text).equals(bytes))?.[0]
  const client = {
    begin: () => (note("head"), true),
    write: (bytes: Uint8Array, drained: () => void) => ((is.drained = drained), note(`<${nameOf(bytes)}`), !is.full),
    end: () => note("whole"),
    cut: () => note("cut")
  }
  const refused: Relayed.Options["refused"] = ({ head }) => note(`refused:${head.status}`)
  const listener: ProviderCall.Listener = {
    events: (events) => (note(events.map(({ type }) => type)), !is.busy),
    end: ({ _tag }) => note(_tag),
    progress: () => note("progress")
  }
  const doing: Record<string, () => unknown> = {
    ...Relay.begin(Relayed.optionsOf(send, { client: client as never, refused }), { now: () => 0 }, listener),
    busy: () => (is.busy = true),
    free: () => (is.busy = false),
    full: () => (is.full = true),
    drain: () => ((is.full = false), is.drained()),
    end: () => endpoint?.end(),
    broken: () => endpoint?.broken(new Error("reset"))
  }
  const did = steps.split("; ").map((step) => {
    const [what = ""] = step.split(" ")
    log = [what]
    const frame = Object.entries(FRAMES).find(([name]) => name === what)?.[1]
    if (frame !== undefined) note(endpoint?.data(Buffer.from(frame)) === true ? "on" : "wait")
    else if (Number(what) > 0) endpoint?.head({ status: Number(what), statusText: "", headers: [] })
    else doing[what]?.()
    return log.flat().join(" ")
  })
  return did.join("; ")
}

const ATTEMPTS = {
  "passes from content on once its mark is on disk, at the pace of its client, to an end that is taken":
    "200; role on; busy; text usage wait; free; more head <role <text resume; ping <ping on; full; text progress <text wait; drain resume; busy; done progress <done on; end whole usage finish; more Success; more; cancel close",
  "that breaks off after content breaks off at the client, and has failed":
    "200; role on; text usage head <role <text resume on; broken cut usage Failure; more; cancel close",
  "that ends after content without its end mark is cut, and has failed":
    "200; text usage head <text resume on; end cut usage Failure",
  "that is over before its mark is on disk passes whole after it":
    "200; busy; text usage wait; done wait; end; more head <text <done whole usage finish; more Success",
  "that breaks off before its mark is on disk passes as far as it came":
    "200; busy; text usage wait; broken; more head <text cut usage; more Failure",
  "that is given up in the middle is cut, and leaves the endpoint":
    "200; text usage head <text resume on; cancel close cut; more; cancel close",
  "that is given up before content leaves the endpoint alone": "200; role on; cancel close; more",
  "that is given up before its failure was taken has no end":
    "200; busy; end refused:200 close error; cancel close; more",
  "without content has failed, and nothing of it passes":
    "200; role on; busy; end refused:200 close error; more Success; more",
  "that is refused has failed, and its answer is kept":
    "503; ping on; end refused:503 close error Success; cancel close",
  "that breaks off before its head has failed, and there is no answer": "busy; broken close error; free; more Success"
}

for (const [title, steps] of Object.entries(ATTEMPTS))
  it(`rule X2, X13: an attempt ${title}`, () => {
    expect(played(steps)).toBe(steps)
  })
