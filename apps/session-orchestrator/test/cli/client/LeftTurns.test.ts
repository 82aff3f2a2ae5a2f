import { expect, it } from "@effect/vitest"
import { openText } from "../../../src/cli/client/LeftTurns.ts"

it("`holdfast wait` says in plain English how many turns have not ended", () => {
  expect([openText(1, 1), openText(1, 3), openText(2, 2)]).toEqual([
    "The turn has not ended.",
    "1 of 3 turns has not ended.",
    "2 of 2 turns have not ended."
  ])
})
