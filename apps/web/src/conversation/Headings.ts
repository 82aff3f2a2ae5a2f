/**
 * The levels of the headings of a text, below those of the page.
 *
 * The page's own headings are of the levels 1 and 2. The first heading of a text is of level 3, and none is more than one level deeper
 * than the heading before it, whatever the model has written: that is how screen readers find their way. `depth-N` is the level that the
 * model has written; it alone decides the size, so a text that arrives in pieces does not jump.
 */

/** A part of the tree of a text (hast). */
export interface Node {
  type: string
  tagName?: string
  properties?: Record<string, unknown>
  children?: Array<Node>
}

/** A plugin of rehype. */
export const renumber = () => (tree: Node) => {
  const open: Array<number> = []
  const visit = (node: Node): void => {
    const depth = Number(/^h([1-6])$/.exec(node.tagName ?? "")?.[1] ?? 0)
    if (depth > 0) {
      while ((open.at(-1) ?? 0) >= depth) open.pop()
      open.push(depth)
      node.tagName = `h${Math.min(LOWEST, OWN + open.length)}`
      node.properties = { ...node.properties, className: [`depth-${depth}`] }
    }
    node.children?.forEach(visit)
  }
  visit(tree)
}

// --- internal

/** The levels that the page itself has. */
const OWN = 2

const LOWEST = 6
