set -e
tasuki graph check graph.json
tasuki agent register bob
tasuki agent register default --kind queue
tasuki conversation open --agent bob --signals @rules.json > opened
ID=$(head -1 opened)
ANA=$(tail -1 opened)
tasuki conversation say $ID "Where is my parcel?" --token $ANA
tasuki conversation say $ID "I have asked that before." --token $ANA
tasuki conversation score $ID --message 1 --signal frustration=0.9 --as bob
tasuki conversation score $ID --message 2 --signal frustration=0.8 --as bob
