/**
 * An agent's retries, tested against an outage: the simulated provider on a socket of this machine.
 *
 * Run it: `npx pnpm@12 exec node examples/src/12-test-an-agent.ts`
 */
// #region test
import * as SimulatedServer from "@holdfast/simulated/server"
import { Effect } from "effect"

/** Stands for the agent under test: it retries until it has an answer. */
const agent = async (baseUrl: string): Promise<number> => {
  const body = JSON.stringify({ model: "any", messages: [{ role: "user", content: "Hello" }] })
  for (let attempts = 1; ; attempts++) {
    const response = await fetch(`${baseUrl}/v1/chat/completions`, { method: "POST", body })
    if (response.ok) return attempts
  }
}

const test = Effect.gen(function* () {
  const server = yield* SimulatedServer.start({ script: "429x2,502+instant" })
  const attempts = yield* Effect.promise(() => agent(server.url))
  console.log(attempts, server.count("/v1/chat/completions")) // 4 4
})

await Effect.runPromise(Effect.scoped(test))
// #endregion test
