import * as fc from "fast-check"
import { expect, it } from "vitest"
import * as TrialForm from "../../src/before/TrialForm.ts"

const fieldsOf = (fields: Partial<TrialForm.TrialValues>): TrialForm.TrialValues => ({
  ...TrialForm.initial,
  ...fields
})

it("an untouched form changes nothing, and tries the configuration alone", () => {
  expect(TrialForm.candidateOf(TrialForm.initial)).toEqual({})
  expect(TrialForm.requestOf(TrialForm.initial)).toEqual({
    outages: ["529 for 7h"],
    turns: 20,
    hours: 48,
    picture: true
  })
})

it("settings have the shapes of the configuration", () => {
  const fields = fieldsOf({
    outages: "529 for 1h\n\n openai=ok \n",
    model: " a/m ",
    profile: "interactive",
    schedule: "5 seconds, 1 minute",
    maxRetries: "4",
    budget: "8 hours",
    jitter: "0.5",
    fallbacks: "b/m, c/m"
  })
  const against = {
    model: "a/m",
    retry: {
      profile: "interactive",
      schedule: { type: "steps", delays: ["5 seconds", "1 minute"] },
      maxRetries: 4,
      budget: "8 hours",
      jitter: { factor: 0.5 },
      routing: { type: "fallback-chain", chains: { default: ["b/m", "c/m"] } }
    }
  }
  expect(TrialForm.requestOf(fields)).toEqual({
    outages: ["529 for 1h", "openai=ok"],
    turns: 20,
    hours: 48,
    against,
    picture: true
  })
  expect(TrialForm.candidateOf(fieldsOf({ scheduleType: "linear", schedule: "2 seconds", jitter: "0" }))).toEqual({
    retry: { schedule: { type: "linear", base: "2 seconds" }, jitter: "none" }
  })
})

it("a replay has the turns of the record", () => {
  const since = "2026-02-14T22:00"
  const request = TrialForm.requestOf(fieldsOf({ isReplay: true, since }))
  expect(request).toEqual({ replay: { since: new Date(since).getTime() }, hours: 48, picture: true })
})

it("what a person types is never dropped: the service gets it, and refuses what is wrong", () => {
  fc.assert(
    fc.property(fc.constantFrom("maxRetries", "budget", "maxDelay", "jitter", "model"), fc.string(), (name, text) => {
      const candidate = TrialForm.candidateOf(fieldsOf({ [name]: text }))
      expect(TrialForm.isEmpty(candidate)).toBe(text.trim() === "")
    })
  )
})

it("each error is beside its field, once, and an error of no field at the form", () => {
  const faults = TrialForm.faultsByField([
    { path: "retry.budget", message: "One." },
    { path: "against.retry.budget", message: "One." },
    { path: "against.retry.schedule.delays[1]", message: "Two." },
    { path: "outages.0", message: "Three." },
    { path: "replay.since", message: "Four." },
    { path: "against.retry.budgets", message: "Five." },
    { path: "", message: "Six." }
  ])
  expect([...faults]).toEqual([
    ["budget", ["One."]],
    ["schedule", ["Two."]],
    ["outages", ["Three."]],
    ["since", ["Four."]],
    ["form", ["against.retry.budgets: Five.", "Six."]]
  ])
})

it("a run is named by its turns, its time and what is compared", () => {
  expect(TrialForm.wordsOf(TrialForm.requestOf(TrialForm.initial))).toBe("Simulates 20 turns, up to 48 hours")
  expect(TrialForm.wordsOf(TrialForm.requestOf(fieldsOf({ isReplay: true, hours: "1", maxRetries: "3" })))).toBe(
    "Simulates the turns of the record, up to 1 hour, as configured, then as changed"
  )
})
