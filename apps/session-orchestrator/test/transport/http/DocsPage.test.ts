import { expect, it } from "@effect/vitest"
import { TurnEvent } from "@holdfast/wire"
import { Problem } from "@holdfast/wire/api"
import * as DocsPage from "../../../src/transport/http/DocsPage.ts"

const from = performance.now()
const page = DocsPage.render("127.0.0.1:4747")
const firstMs = performance.now() - from

it("every problem's type leads to a section that explains it", () => {
  for (const name of Object.keys(Problem.problems)) expect(page).toContain(`id="problem-${name}"`)
})

it("every event has a section that says whether it is kept", () => {
  for (const [type, fate] of Object.entries(TurnEvent.fate)) {
    expect(page).toContain(`<article id="event-${type}">\n<h3><code>${type}</code> <small>${fate}</small></h3>`)
  }
})

it("no link leads nowhere", () => {
  const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
  const targets = [...page.matchAll(/href="#([^"]+)"/g)].map(([, target]) => target)
  expect(targets.filter((target) => !ids.has(target))).toEqual([])
  expect(targets.length).toBeGreaterThan(20)
})

it("ids are unique", () => {
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
  expect(new Set(ids).size).toBe(ids.length)
})

it("both kinds of stream are shown", () => {
  expect(page).toContain("application/x-ndjson")
  expect(page).toContain("text/event-stream")
})

it("is made once, and only its examples differ", () => {
  const laterMs = Array.from({ length: 10 }, (_, n) => {
    const from = performance.now()
    const later = DocsPage.render(`host-${n}:1`)
    const tookMs = performance.now() - from
    expect(later).toBe(page.replaceAll("127.0.0.1:4747", `host-${n}:1`))
    return tookMs
  })
  expect(page.split("http://127.0.0.1:4747/v1/").length).toBeGreaterThan(10)
  expect(Math.min(...laterMs)).toBeLessThan(firstMs / 40)
})

it("what comes with a request cannot become part of the page", () => {
  expect(DocsPage.render(`"><script>x</script>`)).not.toContain("<script>")
})
