/** Scenarios of clients with the login of a plan, and of crowds of calls: a subscriber's night. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import * as Clock from "../../tools/src/acceptance/Clock.ts"
import { ensure, same } from "../../tools/src/acceptance/Report.ts"
import * as Service from "../../tools/src/acceptance/Service.ts"
import type { Place, Start } from "./Client.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Login from "./Login.ts"
import * as Member from "./Member.ts"
import * as Programs from "./Programs.ts"
import * as Registry from "./Registry.ts"
import * as Run from "./Run.ts"
import type { Rig, Scenario } from "./Scenarios.ts"
import * as Trial from "./Trial.ts"
import * as Turns from "./Turns.ts"

const HOUR_MS = 3_600_000

/** How much faster the clock of a service goes that waits for hours. */
const SPEED = 600

/** Calls at once. */
const CROWD = 40

/** All scenarios. */
export const all: ReadonlyArray<Scenario> = [
  {
    title: "a login that ends in the wait",
    fits: ({ vendor }) => vendor !== undefined,
    run: async (rig) => {
      const { endpoint, login, provider, service } = rig
      const text = Trial.answer()
      // The stall outlasts the head that the gateway sends after 20 s.
      endpoint.plan("overload", "stall", { answer: { text } })
      await Trial.started(rig, `${service.url}/to/${provider}`, async (run) => {
        await Turns.until(service.url, provider, ({ attempts }) => attempts >= 1 && endpoint.calls.length === 2)
        if (login !== undefined) Login.end(login.login)
        Trial.answered(await run.ended, text)
      })
      ensure((login?.login.renewals ?? 0) > 0, "The login was not renewed.")
      same(endpoint.calls.length, 3, "calls of the provider")
      const turns = await Turns.of(service.url, provider)
      same(turns.filter(({ attempts }) => attempts > 1).length, 1, "turns of the wait")
    }
  },
  {
    title: "a weekly limit is refused in the provider's words",
    fits: ({ vendor }) => vendor !== undefined,
    run: async (rig) => {
      const { endpoint, provider, service } = rig
      const until = Date.now() + 72 * HOUR_MS
      endpoint.down = { limitUntil: () => until }
      const run = await Run.start(rig, `${service.url}/to/${provider}`, "Say how the night was.")
      const { exitCode, stderr, stdout } = await run.ended
      await run.remove()
      ensure(exitCode !== 0, "It ended well.")
      ensure(
        /hit your (?:usage |weekly )?limit/u.test(stdout + stderr),
        `It has no limit in its words.\n${stdout}\n${stderr}`
      )
    }
  },
  limit("a five-hour limit, by a clock that is sped up", 5, ""),
  limit("a weekly limit with the profile 'weekly', by a clock that is sped up", 26, "@weekly"),
  subagents("in the foreground", false),
  subagents("in the background", true),
  {
    title: "the status line shows what waits",
    fits: ({ interactive, vendor }) => interactive !== undefined && vendor === undefined,
    run: async (rig) => {
      const { client, endpoint, program, provider } = rig
      await held(rig, async (service) => {
        endpoint.down = "overload"
        const statusLine = `${process.execPath} ${program} status-line --url ${service.url}`
        const start = (place: Place, prompt: string): Start =>
          client.interactive?.(place, prompt, statusLine) ?? client.start(place, prompt)
        await Trial.started({ ...rig, client: { ...client, start } }, `${service.url}/to/${provider}`, async (run) => {
          const screen = () => {
            const file = join(run.folder, "screen.txt")
            return existsSync(file) ? readFileSync(file, "utf8") : ""
          }
          while (!/[12] calls? held, overloaded/u.test(screen()))
            await new Promise((resolve) => setTimeout(resolve, 250))
        })
      })
    }
  },
  {
    title: "`npx @holdfast/server with` in an empty folder is the whole installation",
    fits: ({ name }) => name === "Claude Code",
    run: async (rig) => {
      const { client, endpoint } = rig
      const text = Trial.answer()
      const registry = await Registry.start()
      const start = (place: Place, prompt: string): Start => {
        const { command, env } = client.start(place, prompt)
        const [program = "", ...args] = command
        const path = [dirname(program), dirname(process.execPath), "/usr/bin", "/bin"].join(":")
        return {
          command: ["npx", "--yes", "@holdfast/server", "with", basename(program), ...args],
          env: { ...env, PATH: path, npm_config_registry: registry.url }
        }
      }
      endpoint.plan("overload", "overload", { answer: { text } })
      try {
        // The agent's own base URL is that of its provider, as the environment has it.
        await Trial.started({ ...rig, client: { ...client, start } }, endpoint.url, async (run) => {
          Trial.answered(await run.ended, text)
          same(readdirSync(run.folder), [".holdfast"], "what it has left in the folder")
        })
        same(endpoint.calls.length, 3, "calls of the provider")
      } finally {
        registry.close()
      }
    }
  },
  {
    title: `${CROWD} calls at once`,
    fits: ({ name }) => name === "@anthropic-ai/sdk",
    run: async (rig) => {
      const { client, endpoint, provider } = rig
      const text = Trial.answer()
      await held(rig, async (service) => {
        endpoint.down = "overload"
        const crowd = { ...rig, client: { ...client, start: Programs.crowd(CROWD) } }
        await Trial.started(crowd, `${service.url}/to/${provider}`, async (run) => {
          await waiting(service, provider, CROWD)
          endpoint.plan(...Array.from({ length: CROWD }, () => ({ answer: { text } })))
          endpoint.down = undefined
          Trial.answered(await run.ended, text, CROWD)
        })
        same(Endpoint.answered(endpoint).length, CROWD, "answers of the provider")
      })
    }
  }
]

// --- internal

/** Three subagents of one answer, which are held together: all of them answer, and the agent with them. */
function subagents(where: string, isInBackground: boolean): Scenario {
  return {
    title: `three subagents of one answer ${where}`,
    fits: ({ subagent }) => subagent !== undefined,
    run: async (rig) => {
      const { client, endpoint, provider } = rig
      const [first, text] = [Trial.answer(), Trial.answer()]
      const tools = ["one", "two", "three"].flatMap(
        (name) => client.subagent?.(`Say how ${name} was.`, isInBackground) ?? []
      )
      await held(rig, async (service) => {
        endpoint.plan({ answer: { tools } })
        await Trial.started(rig, `${service.url}/to/${provider}`, async (run) => {
          await endpoint.first
          endpoint.down = "overload"
          // The agent does not wait for those in the background: its own call is held with theirs.
          await waiting(service, provider, tools.length + (isInBackground ? 1 : 0))
          const answers = isInBackground
            ? Array.from({ length: 2 * tools.length + 1 }, () => ({ answer: { text } }))
            : [...tools.map(() => ({ answer: { text: first } })), { answer: { text } }]
          endpoint.plan(...answers)
          endpoint.down = undefined
          const ended = await run.ended
          // In the background it answers once they are begun, and again as they end.
          if (isInBackground) ensure(ended.stdout.includes(text) && ended.exitCode === 0, ended.stdout + ended.stderr)
          else Trial.answered(ended, text)
        })
        const answers = Endpoint.answered(endpoint).length
        const told = JSON.stringify(endpoint.calls.at(-1)?.body).split(isInBackground ? text : first).length - 1
        ensure(answers >= tools.length + 2, `The provider has answered ${answers} times.`)
        ensure(told >= tools.length, `The last request has the answer of ${told} subagents.`)
      })
    }
  }
}

/** A limit that ends after so many hours, at a service whose clock goes faster: two calls, and the wait between them. */
function limit(title: string, hours: number, profile: string): Scenario {
  return {
    title,
    fits: ({ vendor }) => vendor !== undefined && Clock.canMove,
    run: async (rig) => {
      const { endpoint, program, provider } = rig
      const text = Trial.answer()
      const config = {
        model: "simulated/steady",
        providers: Member.providers([rig]),
        // A second of the client is ten minutes of the service.
        retry: { requestTimeout: { firstContent: "20 hours", idle: "20 hours" } }
      }
      const service = await Service.make(program, config, Clock.sped(SPEED))
      try {
        const beganAt = Date.now()
        await service.start()
        endpoint.now = () => beganAt + (Date.now() - beganAt) * SPEED
        endpoint.answersBeside = false
        endpoint.plan({ limitUntil: () => endpoint.now() + hours * HOUR_MS }, { answer: { text } })
        await Trial.started(rig, `${service.url}/to/${provider}${profile}`, async (run) =>
          Trial.answered(await run.ended, text)
        )
        const [first = 0, second = 0] = endpoint.calls.map(({ at }) => at)
        same(endpoint.calls.length, 2, "calls of the provider")
        const waited = (second - first) / HOUR_MS
        ensure(waited > hours * 0.9, `It has waited for ${waited.toFixed(1)} hours of its clock.`)
      } finally {
        await service.remove()
      }
    }
  }
}

/** Uses a service whose waits are a few seconds: calls come together, and are let go together. */
const held = async (rig: Rig, use: (service: Service.Service) => Promise<void>): Promise<void> => {
  const service = await Service.make(rig.program, {
    model: "simulated/steady",
    providers: Member.providers([rig]),
    retry: { schedule: { type: "steps", delays: ["2 seconds"] } }
  })
  try {
    await service.start()
    await use(service)
  } finally {
    await service.remove()
  }
}

/** Waits until so many calls are held. */
const waiting = async (service: Service.Service, provider: string, count: number): Promise<void> => {
  while ((await Turns.of(service.url, provider)).filter(({ status }) => OPEN.has(status)).length < count)
    await new Promise((resolve) => setTimeout(resolve, 250))
}

const OPEN: ReadonlySet<string> = new Set(["waiting", "running", "queued"])
