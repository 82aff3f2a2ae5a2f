/** Lists the places of a source that can be mutated, and makes the mutated source. */
import * as Equivalents from "./Equivalents.ts"
import * as Operators from "./Operators.ts"
import * as Syntax from "./Syntax.ts"

/** A source file to mutate. */
export interface Source {
  /** From the root of the repository, with `/`. */
  readonly path: string
  readonly text: string
}

/** One change of one source. */
export interface Place extends Operators.Proposal {
  readonly path: string
  /** From 1. */
  readonly line: number
  /** The code before the change and after it, each on one line. */
  readonly before: string
  readonly after: string
}

export interface Places {
  readonly places: ReadonlyArray<Place>
  readonly passedOver: ReadonlyArray<Place & { readonly reason: string }>
}

/** All places of a source, in the order of the text. */
export const of = ({ path, text }: Source): Places => {
  const places: Array<Place> = []
  const passedOver: Array<Place & { readonly reason: string }> = []
  Syntax.visitRuntime(path, text, (node, ancestors) => {
    for (const proposal of Operators.proposalsFor(node, text)) {
      const place: Place = {
        ...proposal,
        path,
        line: text.slice(0, proposal.start).split("\n").length,
        before: Equivalents.oneLine(text.slice(proposal.start, proposal.end)),
        after: Equivalents.oneLine(proposal.replacement)
      }
      const reason = Equivalents.reasonFor(proposal, node, ancestors, path, text)
      if (reason === undefined) places.push(place)
      else passedOver.push({ ...place, reason })
    }
  })
  return { places, passedOver }
}

/** The source with one place changed. */
export const mutate = (text: string, { end, replacement, start }: Place): string =>
  text.slice(0, start) + replacement + text.slice(end)
