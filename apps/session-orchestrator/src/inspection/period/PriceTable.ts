/** The prices in force, for readers of turns. */
import type { Prices } from "@holdfast/policy"
import { Context, Layer } from "effect"
import { Config } from "../../config/Config.ts"

/** Prices that the configuration lists; others are those of well-known models (`Prices.find`). */
export class PriceTable extends Context.Service<PriceTable, Prices.Prices>()(
  "@holdfast/session-orchestrator/inspection/PriceTable"
) {}

/** From the configuration. */
export const layer: Layer.Layer<PriceTable, never, Config> = Layer.effect(
  PriceTable,
  Config.useSync(({ prices }) => prices)
)
