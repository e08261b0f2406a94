"""Is the right site found among real ones, by the titles of their sections?

    python benchmarks/fleet_sites.py STORE [--each 25] [--seed 3]

STORE is what `roaming crawl --many` filled. Asks it by titles of three to nine words, drawn evenly from its sites;
prints how often the site of the section came first, among the three that are asked, and the section among five hits.
"""

from __future__ import annotations

import argparse
import random

from mkdocs_roaming.roam.collection import Collection


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("--each", type=int, default=25, help="titles of a site")
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    collection, draw = Collection(options.store), random.Random(options.seed)
    asked = first = three = found = 0
    for key in collection.keys:
        places = [place for place in collection.library(key).places if 3 <= len(place.section.title.split()) <= 9]
        for place in draw.sample(places, min(options.each, len(places))):
            title = place.section.title
            ranked = [site.key for site in collection.rank(title)]
            asked += 1
            first += ranked[:1] == [key]
            three += key in ranked
            found += any(hit.id == f"{key}:{place.id}" for hit in collection.find(title, limit=5))
    sites = len(collection.keys)
    print(f"{sites} sites, {asked} titles: right site first {first / asked:.0%}, among three {three / asked:.0%},")
    print(f"the section among five hits {found / asked:.0%}")


if __name__ == "__main__":
    main()
