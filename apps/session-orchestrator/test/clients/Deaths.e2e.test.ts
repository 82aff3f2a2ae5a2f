/**
 * Clients of `holdfast rpc` whose processes are killed, or whose pipes are closed, anywhere: what each assembled over all processes is what is persisted
 * (rule X3).
 *
 * A few cuts in the usual run; with `HOLDFAST_MODEL_RUNS` a hundredth of them.
 */
import { describe } from "@effect/vitest"
import { processDriver } from "./ProcessDriver.ts"
import { CUTS, proof, USUAL } from "./Proof.ts"

describe("a client whose processes die anywhere has what is persisted, without a gap and nothing twice", () => {
  proof("over processes of holdfast rpc", processDriver, {
    cuts: CUTS > USUAL ? Math.ceil(CUTS / 100) : 2,
    atOnce: 1,
    turns: CUTS > USUAL ? 3 : 1,
    cutsEach: CUTS > USUAL ? 12 : 2
  })
})
