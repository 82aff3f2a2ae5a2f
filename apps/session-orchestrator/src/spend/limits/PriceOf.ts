/** Finds the price of a target, whatever key its calls are sent with. */
import { Prices } from "@holdfast/policy"
import { Target } from "@holdfast/wire"
import * as ProviderName from "../../text/ProviderName.ts"

/** The price of `provider/model`; a call with a client's own key costs what others cost. `undefined`: it is not known. */
export const target = (prices: Prices.Prices, name: string): Prices.Price | undefined => {
  const parsed = Target.parse(name)
  return Prices.find(
    prices,
    parsed === undefined ? name : Target.format({ ...parsed, provider: ProviderName.configured(parsed.provider) })
  )
}
