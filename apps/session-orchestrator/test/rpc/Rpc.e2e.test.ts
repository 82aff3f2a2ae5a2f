/** Runs `holdfast rpc` as programs do: a process, and the client of `holdfast/rpc`. */
import { afterAll, describe, expect, it } from "vitest"
import type { TurnEvent } from "../../../../packages/holdfast/src/Events.ts"
import { RpcClient, type RpcOptions } from "../../../../packages/holdfast/src/rpc/index.ts"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { MAIN } from "../service/Program.ts"

const folders: Array<string> = []
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })))

/** A folder of a test's own, and how it starts processes there. */
const given = () => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-rpc-"))
  folders.push(directory)
  // No process starts so late that a wait is over.
  const retry = { schedule: { type: "steps", delays: ["1 hour"] } }
  writeFileSync(join(directory, "holdfast.config.json"), JSON.stringify({ retry }))
  const place = { cwd: directory, env: { HOME: directory, PATH: process.env["PATH"] } }
  const start = (options: RpcOptions = {}): RpcClient =>
    new RpcClient({ command: [process.execPath, MAIN], ...place, ...options })
  return { place, start }
}

/** The next event of a type. */
const next = async <Type extends TurnEvent["type"]>(client: RpcClient, type: Type) => {
  for await (const event of client.events()) if (event.type === type) return event
  throw new Error(`The process has ended without ${type}.`)
}

describe.concurrent("holdfast rpc", () => {
  it("rule P16: a prompt waits in an outage, is steered, and its turn goes on in another process", async () => {
    const { start } = given()
    const first = start({ model: "simulated/outage-2" })
    const seen: Array<string> = []
    first.on(({ type }) => seen.push(type))
    const wait = next(first, "provider-retry")
    const cancelled = first.prompt("Hi")
    expect(await wait).toMatchObject({ attempt: 0, delayMs: 3_600_000 })
    expect(await first.getState()).toMatchObject({ autoRetryEnabled: true, isRetrying: true, attempt: 0 })
    expect(await first.abortRetry()).toBe(true)
    expect(await cancelled).toMatchObject({ status: "failed", text: "", error: { reason: "overloaded" } })
    expect(seen).toContain("retry-end")
    await first.setAutoRetry(false)
    expect(await first.retry()).toMatchObject({ status: "failed" })
    await first.setAutoRetry(true)

    // The end of its input ends the process, and not the turn.
    const again = next(first, "provider-retry")
    const left = expect(first.prompt("Still there?")).rejects.toMatchObject({ code: "closed" })
    await again
    const { conversationId, lastEventId } = await first.getState()
    expect(first.lastEventId).toBe(lastEventId)
    expect(await first.close()).toBe(0)
    await left
    await expect(first.getState()).rejects.toMatchObject({ code: "closed" })

    await using second = start({ conversation: conversationId, after: lastEventId })
    const events = second.events()
    expect((await events.next()).value).toMatchObject({ type: "provider-retry", attempt: 0 })
    expect(await second.retryNow({ commandId: "now" })).toBe(true)
    const after: Array<TurnEvent> = []
    for await (const event of events) {
      after.push(event)
      if (event.type === "provider-retry") await second.abort()
      if (event.type === "turn-end") break
    }
    expect(after.map(({ type }) => type)).not.toContain("turn-start")
    expect(after.at(-1)).toMatchObject({ type: "turn-end", status: "aborted" })
    await expect(second.switchTarget("nowhere/m")).rejects.toMatchObject({
      code: "refused",
      problem: "invalid-request"
    })
  })

  it("rule P16: a second process works through the first one's service, and goes on by itself when that one ends", async () => {
    const { start } = given()
    const first = start({ model: "simulated/steady+instant" })
    expect(await first.prompt("Hi")).toMatchObject({ status: "completed" })
    await using second = start({ model: "simulated/outage-1" })
    const wait = next(second, "provider-retry")
    const answered = second.prompt("Are you there?")
    await wait
    expect(await first.close()).toBe(0)
    expect(await second.retryNow()).toBe(true)
    expect(await answered).toMatchObject({ status: "completed" })
    expect(await second.getState()).toMatchObject({ status: "idle", lastEventId: second.lastEventId })
  })

  it("rule P16: a closed output ends the process; an error at its start is that of the first call", async () => {
    const { place, start } = given()
    const child = spawn(process.execPath, [MAIN, "rpc", "--model", "simulated/slow"], place)
    child.stdout.once("data", () => child.stdout.destroy())
    child.stdin.on("error", () => {})
    child.stdin.write('garbage\n{"id":1,"type":"prompt","prompt":"Hi"}\n')
    expect(await new Promise((resolve) => child.on("exit", resolve))).toBe(1)

    const refused = start({ conversation: "nowhere" })
    await expect(refused.getState()).rejects.toMatchObject({
      code: "closed",
      message: "holdfast rpc has ended with exit code 1. It wrote: holdfast: There is no conversation nowhere."
    })
  })
})
