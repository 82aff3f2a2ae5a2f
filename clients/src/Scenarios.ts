/** What is tried with each real client of npm, such as Claude Code or the SDK `openai`, through the gateway: it knows nothing of Holdfast but the base URL. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as Service from "../../tools/src/acceptance/Service.ts"
import { ensure, same } from "../../tools/src/acceptance/Report.ts"
import type { Client } from "./Client.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Member from "./Member.ts"
import * as Relay from "./Relay.ts"
import * as Trial from "./Trial.ts"
import * as Turns from "./Turns.ts"

/** A scenario. */
export interface Scenario {
  readonly title: string
  /** Whether it is shown with a client. */
  readonly fits: (client: Client) => boolean
  readonly run: (rig: Rig) => Promise<void>
}

/** What a scenario has for itself. */
export interface Rig extends Member.Member {
  /** The service, which it shares with others. */
  readonly service: Service.Service
  /** The bundle of the service. */
  readonly program: string
}

/** All scenarios. */
export const all: ReadonlyArray<Scenario> = [
  {
    title: "an outage of all eight kinds of failure",
    fits: () => true,
    run: async (rig) => {
      const { endpoint, provider, service } = rig
      const text = Trial.answer()
      endpoint.plan(...Endpoint.FAILURES, { answer: { text } })
      await Trial.started(rig, `${service.url}/to/${provider}`, async (run) => {
        // Seven attempts have arrived; the eighth was refused when the turn has counted it.
        await Turns.until(service.url, provider, ({ attempts }) => attempts >= Endpoint.FAILURES.length)
        await endpoint.listen()
        Trial.answered(await run.ended, text)
      })
      same(Endpoint.answered(endpoint).length, 1, "answers of the provider")
      await Turns.until(service.url, provider, ({ status }) => status === "completed")
    }
  },
  {
    title: "a turn with a tool, with failures before each step",
    fits: ({ shell }) => shell !== undefined,
    run: async (rig) => {
      const { client, endpoint, provider, service } = rig
      const [text, word] = [Trial.answer(), Trial.secret()]
      const tool = client.shell?.("cat word.txt; echo run >> runs.txt")
      if (tool === undefined) return
      endpoint.plan("overload", "cut", { answer: { tools: [tool] } }, "error in a 200", "empty", { answer: { text } })
      await Trial.started(
        rig,
        `${service.url}/to/${provider}`,
        async (run) => {
          Trial.answered(await run.ended, text)
          same(readFileSync(join(run.folder, "runs.txt"), "utf8"), "run\n", "runs of the tool")
        },
        { "word.txt": word }
      )
      same(Endpoint.answered(endpoint).length, 2, "answers of the provider")
      ensure(
        JSON.stringify(Endpoint.answered(endpoint).at(-1)?.body).includes(word),
        "The result of the tool is not in the last request."
      )
    }
  },
  {
    title: "kill -9 of the service in the wait",
    // A client that repeats what was cut after the head is cut after it: it may write that request anew.
    fits: ({ repeats }) => repeats !== "never",
    run: async (rig) => {
      const { client, endpoint, program, provider } = rig
      const text = Trial.answer()
      const service = await Service.make(program, {
        model: `${provider}/m`,
        providers: Member.providers([rig]),
        retry: { schedule: { type: "steps", delays: ["10 millis", "1 hour"] } }
      })
      const relay = await Relay.start(Number(new URL(service.url).port))
      try {
        await service.start()
        endpoint.answersBeside = false
        endpoint.plan("overload", "overload", { answer: { text } })
        await Trial.started(rig, `${relay.url}/to/${provider}`, async (run) => {
          const isWaiting = (turn: Turns.Turn) => turn.wait !== undefined && turn.attempts === 2
          const before = await Turns.until(service.url, provider, isWaiting)
          if (client.repeats === "always") await relay.held
          relay.hold()
          await service.kill()
          await service.start()
          relay.open()
          const after = await Turns.until(service.url, provider, isWaiting)
          same([after.turnId, after.wait?.retryAt], [before.turnId, before.wait?.retryAt], "the wait after the restart")
          // The command counts once the client is back.
          const asking = setInterval(() => void Turns.retryNow(service.url, after).catch(() => {}), 250)
          try {
            Trial.answered(await run.ended, text)
          } finally {
            clearInterval(asking)
          }
        })
        // A client ends before its turn does.
        await Turns.until(service.url, provider, ({ status }) => status === "completed")
        const turns = await Turns.of(service.url, provider)
        same(
          turns.map(({ attempts }) => attempts),
          [3],
          "the attempts of its only turn"
        )
        same(endpoint.calls.length, 3, "calls of the provider")
      } finally {
        relay.close()
        await service.remove()
      }
    }
  },
  {
    title: "an abort frees the provider's connection",
    fits: ({ shell }) => shell !== undefined,
    run: async (rig) => {
      const { endpoint, provider, service } = rig
      endpoint.plan({ begins: "An answer without an end." })
      await Trial.started(rig, `${service.url}/to/${provider}`, async (run) => {
        const call = await endpoint.first
        run.interrupt()
        await call.closed
        await run.ended
      })
      same(endpoint.calls.length, 1, "calls of the provider")
    }
  }
]
