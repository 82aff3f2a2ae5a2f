/**
 * Runs the scripts of `Proof` over processes of `holdfast rpc`, one after the other over one database.
 *
 * ProcessDriver.D1. A cut takes the process at a number of bytes that it has written, or was sent: by `kill -9`, or by closing its pipes. The client
 *     gets the bytes until then, so half lines too.
 */
import { type LineChannel, RpcClient } from "@holdfast/client/stdio"
import { TurnEvent } from "@holdfast/wire"
import { Effect, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { MAIN } from "../service/Program.ts"
import type { Cut } from "./CuttingProxy.ts"
import { type Driver, resumed } from "./Drivers.ts"
import * as SimulatedService from "./SimulatedService.ts"

/** Clients of processes, each conversation with a database of its own. */
export const processDriver: Effect.Effect<Driver, unknown, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "holdfast-deaths-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
  const running = yield* Effect.acquireRelease(
    Effect.sync(() => new Set<ChildProcess>()),
    (running) => Effect.sync(() => running.forEach((child) => child.kill("SIGKILL")))
  )
  let conversations = 0
  const run: Driver["run"] = ({ cuts, turns }) =>
    Effect.promise(async () => {
      const config = join(folder, `${++conversations}.json`)
      const path = join(folder, `${conversations}.db`)
      writeFileSync(
        config,
        JSON.stringify({ database: { path }, model: "simulated/ok+instant", retry: SimulatedService.QUICK })
      )
      const left = [...cuts]
      let made = 0
      const open: Open = (options, listener) =>
        channel(running, left.shift(), () => void made++, { ...options, config }, listener)
      const command: Command = { command: [process.execPath, MAIN] }
      const first = new RpcClient({ ...command, config }, (options, listener) =>
        channel(running, undefined, () => {}, options, listener)
      )
      const { conversationId } = await first.getState()
      await first.close()
      const assembled = await resumed(open, conversationId, turns)
      const reader = new RpcClient({ ...command, config, conversation: conversationId })
      const events: Array<TurnEvent.PersistedEvent> = []
      const isWhole = new Promise<void>((resolve) => {
        reader.on((event) => {
          if (!TurnEvent.isPersisted(event)) return
          events.push(event)
          if (events.filter(({ type }) => type === "turn-end").length === turns.length) resolve()
        })
      })
      await isWhole
      await reader.close()
      const messages = events.flatMap((event) => (event.type === "message" ? [event.message] : []))
      return { assembled, persisted: { events, messages }, cuts: made }
    })
  return { run }
})

// --- internal

type Open = NonNullable<ConstructorParameters<typeof RpcClient>[1]>
type Command = Pick<ConstructorParameters<typeof RpcClient>[0], "command">

/** ProcessDriver.D1 */
const channel = (
  running: Set<ChildProcess>,
  cut: Cut | undefined,
  onCut: () => void,
  { after = 0, config = "", conversation }: Parameters<Open>[0],
  { bytes, closed }: Parameters<Open>[1]
): LineChannel => {
  const existing = conversation === undefined ? [] : ["--conversation", conversation, "--after", String(after)]
  const child = spawn(process.execPath, [MAIN, "rpc", "--config", config, ...existing], {
    stdio: ["pipe", "pipe", "ignore"],
    env: { HOME: tmpdir(), PATH: process.env["PATH"] }
  })
  running.add(child)
  const limits = { down: cut?.down ?? Infinity, up: cut?.up ?? Infinity }
  let isCut = false
  const take = (direction: keyof typeof limits, length: number): number => {
    const left = limits[direction]
    limits[direction] -= length
    if (limits[direction] > 0 || isCut) return Math.min(left, length)
    isCut = true
    onCut()
    if (cut?.how === "reset") child.kill("SIGKILL")
    else {
      child.stdin.end()
      child.stdout.destroy()
    }
    return Math.max(0, left)
  }
  child.stdin.on("error", () => {})
  child.stdout.on("data", (data: Buffer) => {
    if (isCut) return
    bytes(data.subarray(0, take("down", data.length)))
  })
  child.on("close", (code) => {
    running.delete(child)
    closed({ message: "The process has ended.", code })
  })
  return {
    write: (text) => {
      if (!isCut) child.stdin.write(text.slice(0, take("up", text.length)))
    },
    end: () => void child.stdin.end(),
    kill: () => void child.kill("SIGKILL")
  }
}
