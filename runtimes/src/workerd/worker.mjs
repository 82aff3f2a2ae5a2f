/** The Durable Objects of the scenario: `/MODEL/LIFE?url=URL` runs a life of the turn, and `alarm` as its life lets the alarm end its waits. */
import { durableTurns } from "@holdfast/cloudflare"
import { DurableObject } from "cloudflare:workers"
import { durableObjectStore } from "holdfast"
import { cutCall, optionsOf, scenario, toolsOf } from "../scenario/Scenario.mjs"

/** A line is printed when what was written before it is on disk. workerd itself holds back requests and responses until then, and not the log. */
const printer = (storage) => {
  let printed = Promise.resolve()
  return (line) => (printed = printed.then(() => storage.sync()).then(() => console.log(line)))
}

/** Waits in memory, where a command ends its waits. */
export class Resident extends DurableObject {
  run(model, life, url) {
    const store = durableObjectStore(this.ctx.storage)
    const print = printer(this.ctx.storage)
    return life === "cut" ? cutCall(url).then(print) : scenario({ life, model, print, store, url })
  }
}

/** Leaves memory at each wait. In its second life only its alarm calls it. */
export class Alarmed extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env)
    this.print = printer(ctx.storage)
    this.ctx.blockConcurrencyWhile(async () => {
      const url = await this.ctx.storage.get("url")
      if (url !== undefined) this.turns = this.turnsOf(url)
    })
  }
  turnsOf(url) {
    const retry = { schedule: { type: "steps", delays: ["0 millis", "4 seconds"], tail: "1 millis" }, jitter: "none" }
    const turns = durableTurns(this.ctx, { ...optionsOf(url, "adapter"), tools: toolsOf(), retry })
    turns.holdfast.subscribe((event) => this.print(JSON.stringify(event)))
    return turns
  }
  async run(url) {
    await this.ctx.storage.put("url", url)
    this.turns = this.turnsOf(url)
    await this.turns.turn("How is the weather?", { id: "t1" }).result
  }
  async alarm() {
    await this.turns.alarm()
    const result = await this.turns.turn("How is the weather?", { id: "t1" }).result
    await this.print(JSON.stringify({ type: "result", ...result }))
  }
}

export default {
  async fetch(request, { ALARMED, RESIDENT }) {
    const { pathname, searchParams } = new URL(request.url)
    const [, model, life] = pathname.split("/")
    const url = searchParams.get("url")
    if (life === "alarm") await ALARMED.get(ALARMED.idFromName("a")).run(url)
    else await RESIDENT.get(RESIDENT.idFromName(model)).run(model, life, url)
    return new Response("done")
  }
}
